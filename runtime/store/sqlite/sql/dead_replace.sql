-- G17: a dead letter is retried once.
UPDATE lockstep_dead_letters SET replacement = ? WHERE id = ? AND replacement = ''
