-- G1, D01: a transaction is of this database, or refused; what its session makes of texts is to be known.
SELECT d.installation, @@SESSION.character_set_client, @@SESSION.collation_connection, @@SESSION.character_set_results,
	@@SESSION.sql_mode
FROM lockstep_schema_migrations d WHERE d.version = 1
