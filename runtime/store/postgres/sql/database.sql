-- G1: a transaction is of this database, or refused.
SELECT database FROM lockstep.lockstep_schema_migrations WHERE version = 1
