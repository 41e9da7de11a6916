-- G4: what is finished or given back is not claimed.
DELETE FROM lockstep.lockstep_claimed WHERE instance_id = ANY ($1::text[])
