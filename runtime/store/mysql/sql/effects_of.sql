-- G26: whose mailboxes hear of these effects.
SELECT e.instance_id FROM lockstep_effects e FORCE INDEX (PRIMARY) WHERE e.id IN (/*each*/?/*end*/)
