-- G25: a reminder without an interval occurs once.
DELETE FROM lockstep.lockstep_reminders WHERE id = ANY ($1::text[])
