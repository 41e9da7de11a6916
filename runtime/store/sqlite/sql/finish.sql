-- G12, G15: a message ends once.
UPDATE lockstep_messages SET status = ?, result = ?, rejection = ?, finished_at = ?
WHERE id = ? AND instance_id = ? AND status = 'live'
