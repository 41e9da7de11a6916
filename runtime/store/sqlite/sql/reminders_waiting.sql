-- Design 4: nothing takes the write lock to find nothing.
SELECT 1 FROM lockstep_reminders WHERE due_at <= ? LIMIT 1
