-- G4: a claimed head is not ready.
DELETE FROM lockstep_ready WHERE instance_id = ?
