-- G17: a dead letter is retried once.
UPDATE lockstep.lockstep_dead_letters SET replacement = $2::text WHERE id = $1::text AND replacement = ''
