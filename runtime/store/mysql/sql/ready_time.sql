-- G30: nobody's scan passes over a paused mailbox; a resumed one is due again when its head is.
UPDATE lockstep_ready SET due_at = ? WHERE instance_id = ?
