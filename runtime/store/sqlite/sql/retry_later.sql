-- G16: a failed attempt holds back the actor's later messages until it is tried again.
UPDATE lockstep_messages SET available_at = ?, error_kind = ?, error_text = ? WHERE id = ?
