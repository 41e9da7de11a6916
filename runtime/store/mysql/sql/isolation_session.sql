-- D30: as isolation, for every transaction of a connection that is the store's own.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
