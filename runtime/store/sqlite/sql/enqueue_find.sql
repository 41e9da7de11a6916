-- G1, G2: the mailbox that a message goes to, without the state.
SELECT id, head_sequence, next_sequence, tail, owner, lease_until, paused_at, actor_type, actor_id
FROM lockstep_instances WHERE actor_type = ? AND actor_id = ?
