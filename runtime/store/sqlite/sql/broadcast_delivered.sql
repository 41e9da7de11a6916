-- G27: what was handed on is forgotten.
DELETE FROM lockstep_broadcasts WHERE id = ?
