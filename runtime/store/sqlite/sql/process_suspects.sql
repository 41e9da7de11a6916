-- G31: whose life is to be asked about.
SELECT id, locked, beat_at FROM lockstep_processes WHERE state <> 'stopped' AND id <> ?
