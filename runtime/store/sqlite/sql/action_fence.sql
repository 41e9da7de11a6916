-- G7, G11: a commit action runs only for whoever may commit.
SELECT 1 FROM lockstep_instances
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ? AND head_sequence = ?
	AND EXISTS (SELECT 1 FROM lockstep_claimed c WHERE c.instance_id = lockstep_instances.id AND c.message_id = ?)
