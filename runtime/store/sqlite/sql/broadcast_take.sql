-- G27: the row is its taker's until it is handed on or that claim lapses.
UPDATE lockstep_broadcasts SET owner = ?, claimed_at = ? WHERE id = ?
