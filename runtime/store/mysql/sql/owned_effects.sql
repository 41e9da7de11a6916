-- G24, G31: what a process works at; an effect that is being ended is skipped.
SELECT e.id FROM lockstep_effects e FORCE INDEX (lockstep_effects_owner) WHERE e.owner = ? AND e.state = 'pending'
FOR UPDATE SKIP LOCKED
