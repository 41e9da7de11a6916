-- All or nothing.
COMMIT
