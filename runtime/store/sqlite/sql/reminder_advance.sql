-- G25: the advance commits with the occurrence.
UPDATE lockstep_reminders SET next_at = ?, due_at = ? WHERE id = ?
