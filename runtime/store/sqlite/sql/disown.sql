-- G31, G32: the lease ends, whoever has it; the generation stays, so that it never repeats.
UPDATE lockstep_instances SET owner = NULL, token = NULL, lease_until = 0 WHERE id = ?
