-- Design 4: nothing takes the write lock to find nothing.
SELECT 1 FROM lockstep_processes WHERE state = 'stopped' AND stopped_at <= ? LIMIT 1
