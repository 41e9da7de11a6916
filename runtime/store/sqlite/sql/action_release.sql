-- G12: it is there as long as the transaction is.
RELEASE lockstep_action
