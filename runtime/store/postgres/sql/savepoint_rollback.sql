-- G12: an item that is refused takes back its own writes only.
ROLLBACK TO SAVEPOINT lockstep_item
