-- G23: another attempt, later.
UPDATE lockstep.lockstep_effects SET owner = NULL, due_at = $2::bigint, attempts = greatest(attempts - $3::bigint, 0),
	error_kind = $4::text, error_text = $5::text
WHERE id = $1::text
