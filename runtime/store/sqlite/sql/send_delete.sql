-- D48: delivered in the same transaction, so exactly once.
DELETE FROM lockstep_sends WHERE position = ?
