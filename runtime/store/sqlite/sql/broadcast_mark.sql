-- G27: a broadcast without a change of state.
UPDATE lockstep_instances
SET broadcast_previous = broadcast_revision, broadcast_revision = ?, broadcast_message_id = ?
WHERE id = ?
RETURNING broadcast_previous
