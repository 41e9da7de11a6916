-- G1: sequences have no gap.
UPDATE lockstep_instances SET next_sequence = next_sequence + 1, tail = ?, last_used_at = ? WHERE id = ?
