-- G28: nobody is at work with the instance while it goes.
SELECT id FROM lockstep.lockstep_instances WHERE actor_type = $1::text AND actor_id = $2::text FOR UPDATE
