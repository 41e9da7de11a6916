-- G26: the mailbox of this incarnation and no other.
SELECT id, head_sequence, next_sequence, tail, owner, lease_until, paused_at, actor_type, actor_id
FROM lockstep_instances WHERE id = ?
