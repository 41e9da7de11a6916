-- G16: a message that was given up is finished.
UPDATE lockstep_messages SET status = 'dead', finished_at = ?, error_kind = ?, error_text = ? WHERE id = ?
