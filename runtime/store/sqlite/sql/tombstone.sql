-- G28: history without an instance is unreachable; Sweep deletes it, backwards from its tail and its dead letters.
INSERT INTO lockstep_tombstones (instance_id, message_id)
SELECT id, tail FROM lockstep_instances WHERE actor_type = ?1 AND actor_id = ?2
UNION
SELECT d.instance_id, d.id FROM lockstep_dead_letters d
WHERE d.instance_id = (SELECT id FROM lockstep_instances WHERE actor_type = ?1 AND actor_id = ?2)
