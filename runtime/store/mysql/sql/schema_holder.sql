-- D40: who installs.
SELECT holder FROM lockstep_schema_migrations WHERE version = 0
