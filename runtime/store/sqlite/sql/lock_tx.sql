-- G7: the write lock is held before anything is read.
DELETE FROM lockstep_tombstones WHERE instance_id = ''
