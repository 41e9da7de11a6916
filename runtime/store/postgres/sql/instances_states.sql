-- G34: named actors of a type, what each still has, and its state.
SELECT i.id, i.actor_type, i.actor_id, i.created_at, i.last_used_at, i.revision, i.state_version,
	i.next_sequence - i.head_sequence, i.owner IS NOT NULL AND i.lease_until > (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint), i.paused_at IS NOT NULL,
	EXISTS (SELECT 1 FROM lockstep.lockstep_reminders r WHERE r.instance_id = i.id OFFSET 0),
	EXISTS (SELECT 1 FROM lockstep.lockstep_effects e WHERE e.instance_id = i.id AND e.state || '' = 'pending' OFFSET 0)
		OR EXISTS (SELECT 1 FROM lockstep.lockstep_sends s WHERE s.instance_id = i.id OFFSET 0)
		OR EXISTS (SELECT 1 FROM lockstep.lockstep_broadcasts b WHERE b.instance_id = i.id OFFSET 0),
	EXISTS (SELECT 1 FROM lockstep.lockstep_dead_letters d WHERE d.instance_id = i.id OFFSET 0),
	i.state
FROM unnest($3::text[]) AS k (actor_id) CROSS JOIN LATERAL (
	SELECT * FROM lockstep.lockstep_instances o WHERE o.actor_type = $2::text AND o.actor_id = k.actor_id OFFSET 0) i
