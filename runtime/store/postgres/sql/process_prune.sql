-- G31: processes that stopped long ago are forgotten.
DELETE FROM lockstep.lockstep_processes WHERE state = 'stopped' AND stopped_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint) - $2::bigint
