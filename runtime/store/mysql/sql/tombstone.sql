-- G28: history without an instance is unreachable; Sweep deletes it, backwards from its tail and its dead letters.
INSERT INTO lockstep_tombstones (instance_id, message_id)
SELECT i.id, i.tail FROM lockstep_instances i WHERE i.id = ?
UNION
SELECT d.instance_id, d.id FROM lockstep_dead_letters d WHERE d.instance_id = ?
