-- D48: an earlier message of the same source to the same target goes first.
SELECT due_at FROM lockstep_sends
WHERE instance_id = ? AND target_type = ? AND target_id = ? AND position < ? ORDER BY position LIMIT 1
