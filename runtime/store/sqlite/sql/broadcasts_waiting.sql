-- Design 4: nothing takes the write lock to find nothing.
SELECT 1 FROM lockstep_broadcasts WHERE claimed_at <= ? LIMIT 1
