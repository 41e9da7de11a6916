-- G16: the attempt is counted before actor code runs.
UPDATE lockstep_messages SET attempts = attempts + 1 WHERE id = ?
