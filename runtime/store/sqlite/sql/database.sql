-- G1: a transaction is of this database, or refused; in memory there is no file name to tell them apart.
SELECT database FROM lockstep_schema_migrations WHERE version = 1
