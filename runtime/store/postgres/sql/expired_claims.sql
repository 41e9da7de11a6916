-- G8, G31: claims whose lease is over, whoever had it; a live owner's commit or renewal comes first.
SELECT i.id FROM lockstep.lockstep_instances i
WHERE i.id = ANY (ARRAY(SELECT c.instance_id FROM lockstep.lockstep_claimed c)) AND i.lease_until <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint)
LIMIT $2::bigint
FOR NO KEY UPDATE OF i SKIP LOCKED
