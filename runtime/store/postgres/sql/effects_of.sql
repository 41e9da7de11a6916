-- G26: whose mailboxes the ends of these effects may reach.
SELECT DISTINCT e.instance_id FROM lockstep.lockstep_effects e WHERE e.id = ANY ($1::text[])
