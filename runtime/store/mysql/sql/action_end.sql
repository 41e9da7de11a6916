-- G12: the session is as it was.
SET SESSION autocommit = 1
