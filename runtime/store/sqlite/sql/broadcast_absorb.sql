-- G27: the newer row has the lowest previous, the union of names and the newest values.
UPDATE lockstep_broadcasts
SET id = ?, revision = ?, previous = ?, message_id = ?, names = ?, shared = ?, owner = ?, claimed_at = ?
WHERE instance_id = ?
