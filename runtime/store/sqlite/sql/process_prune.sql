-- G31: processes that stopped long ago are forgotten.
DELETE FROM lockstep_processes WHERE state = 'stopped' AND stopped_at <= ?
