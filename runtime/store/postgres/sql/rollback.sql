-- G12: nothing.
ROLLBACK
