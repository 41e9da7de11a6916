-- An item that is refused takes back its own writes only.
SAVEPOINT item
