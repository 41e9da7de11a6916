-- G12: should the transaction end under a commit action, what follows is in one of its own, and rolled back with it.
SET SESSION autocommit = 0
