-- G25: a reminder without an interval occurs once.
DELETE FROM lockstep_reminders WHERE id = ?
