-- G5, G16: the next sequence may run.
UPDATE lockstep_instances SET head_sequence = head_sequence + 1 WHERE id = ?
