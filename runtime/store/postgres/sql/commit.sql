-- G12: all or nothing.
COMMIT
