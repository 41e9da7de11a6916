-- G12: it is there as long as the transaction is.
SAVEPOINT lockstep_action
