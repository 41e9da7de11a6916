-- G31: what a process owns, a bounded number at a time.
SELECT id FROM lockstep_instances WHERE owner = ? LIMIT ?
