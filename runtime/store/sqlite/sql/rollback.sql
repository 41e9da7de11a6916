-- Nothing.
ROLLBACK
