-- D40: the next need not wait.
UPDATE lockstep_schema_migrations SET holder = '', held_until = 0 WHERE version = 0 AND holder = ?
