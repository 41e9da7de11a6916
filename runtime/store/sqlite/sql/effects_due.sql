-- G23, G24: effects that nobody works at, longest due first.
SELECT e.id, e.name, e.arguments, e.done, e.failed, e.max_attempts, e.meta, e.instance_id, i.actor_type, i.actor_id, e.attempts
FROM lockstep_effects e JOIN lockstep_instances i ON i.id = e.instance_id
WHERE e.state = 'pending' AND e.due_at <= ? AND e.name IN (SELECT value FROM json_each(?))
ORDER BY e.due_at LIMIT ?
