-- D40: what is installed; reading needs no right to change it.
SELECT version, identity, installation FROM lockstep_schema_migrations WHERE version >= 0 ORDER BY version
