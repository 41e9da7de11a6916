-- G26: only the attempt that is current can end an effect.
SELECT instance_id FROM lockstep_effects WHERE id = ? AND owner = ? AND attempts = ? AND state = 'pending'
