-- D30: what was committed before a lock was granted is seen after it.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
