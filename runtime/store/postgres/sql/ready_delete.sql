-- G4: a claimed head is not ready.
DELETE FROM lockstep.lockstep_ready WHERE instance_id = ANY ($1::text[])
