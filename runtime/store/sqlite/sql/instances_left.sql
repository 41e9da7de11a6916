-- G34: what these incarnations still have, asked again before they expire.
SELECT i.id, i.actor_type, i.actor_id, i.created_at, i.last_used_at, i.revision, i.state_version,
	i.next_sequence - i.head_sequence, CASE WHEN i.owner IS NULL THEN 0 ELSE i.lease_until END, i.paused_at,
	EXISTS (SELECT 1 FROM lockstep_reminders r WHERE r.instance_id = i.id),
	EXISTS (SELECT 1 FROM lockstep_effects e WHERE e.instance_id = i.id AND e.state = 'pending')
		OR EXISTS (SELECT 1 FROM lockstep_sends s WHERE s.instance_id = i.id)
		OR EXISTS (SELECT 1 FROM lockstep_broadcasts b WHERE b.instance_id = i.id),
	EXISTS (SELECT 1 FROM lockstep_dead_letters d WHERE d.instance_id = i.id)
FROM lockstep_instances i WHERE i.id IN (SELECT value FROM json_each(?))
