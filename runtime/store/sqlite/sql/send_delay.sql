-- D48: a target that takes no more delays only its own.
UPDATE lockstep_sends SET due_at = ? WHERE position = ?
