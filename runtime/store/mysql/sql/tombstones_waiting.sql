-- Design 4: no transaction is begun to find nothing.
SELECT 1 FROM lockstep_tombstones LIMIT 1
