-- G31: a process that was found dead does not come back by beating.
UPDATE lockstep_processes SET beat_at = ?, state = ? WHERE id = ? AND state <> 'stopped'
