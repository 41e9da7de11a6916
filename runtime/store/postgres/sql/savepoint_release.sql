-- G12: an item that was not refused is part of the whole.
RELEASE SAVEPOINT lockstep_item
