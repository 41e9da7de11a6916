-- G25: a cancelled reminder enqueues nothing more.
DELETE FROM lockstep_reminders WHERE instance_id = ? AND operation = ? AND key = ?
