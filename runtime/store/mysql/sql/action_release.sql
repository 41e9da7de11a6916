-- G12: it is there as long as the transaction is.
RELEASE SAVEPOINT lockstep_action
