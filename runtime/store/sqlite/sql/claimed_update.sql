-- G6: the turn's commit claims the next message.
UPDATE lockstep_claimed SET sequence = ?, message_id = ?, claimed_at = ? WHERE instance_id = ?
