-- An item that is refused takes back its own writes only.
RELEASE SAVEPOINT lockstep_item
