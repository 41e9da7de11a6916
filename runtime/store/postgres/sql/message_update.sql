-- G12, G16: how an attempt ended; nothing changes a finished message.
UPDATE lockstep.lockstep_messages m SET
	status = coalesce(v.status, m.status), result = coalesce(v.result, m.result),
	rejection = coalesce(v.rejection, m.rejection), finished_at = coalesce(v.finished_at, m.finished_at),
	available_at = coalesce(v.available_at, m.available_at), error_kind = coalesce(v.error_kind, m.error_kind),
	error_text = coalesce(v.error_text, m.error_text), attempts = greatest(m.attempts + v.attempts, 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[])
	AS v (id, status, result, rejection, finished_at, available_at, error_kind, error_text, attempts)
WHERE m.id = v.id AND m.status = 'live'
