-- G4: what is finished or given back is not claimed.
DELETE FROM lockstep_claimed WHERE instance_id = ?
