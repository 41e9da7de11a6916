-- G30: nobody's scan passes over a paused mailbox.
UPDATE lockstep_ready SET due_at = 9223372036854775807 WHERE instance_id = ?
