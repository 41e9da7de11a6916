-- Design 4: nothing takes the write lock to find nothing.
SELECT 1 FROM lockstep_effects WHERE state = 'pending' AND due_at <= ? AND name IN (SELECT value FROM json_each(?)) LIMIT 1
