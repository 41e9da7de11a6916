-- G27: the row that a newer one absorbs.
SELECT revision, previous, names, shared FROM lockstep_broadcasts WHERE instance_id = ?
