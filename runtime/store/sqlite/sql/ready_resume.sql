-- G30: it is due again when its head is.
UPDATE lockstep_ready
SET due_at = (SELECT m.available_at FROM lockstep_messages m WHERE m.id = lockstep_ready.message_id)
WHERE instance_id = ? AND due_at = 9223372036854775807
