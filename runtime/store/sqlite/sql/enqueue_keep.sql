-- G1: the next sequence is taken with the message, and the lease is as long as a new claim's.
UPDATE lockstep_instances SET next_sequence = next_sequence + 1, tail = ?, lease_until = ?, last_used_at = ? WHERE id = ?
