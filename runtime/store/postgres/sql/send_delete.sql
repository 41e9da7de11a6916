-- D48: delivered in the same transaction, so exactly once.
DELETE FROM lockstep.lockstep_sends WHERE position = ANY ($1::bigint[])
