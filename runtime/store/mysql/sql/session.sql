-- D30, D01: the session's settings are the store's, whatever the DSN says; nothing is cut to fit.
SET SESSION autocommit = 1,
	SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
	SESSION innodb_lock_wait_timeout = ?,
	SESSION unique_checks = 1,
	SESSION character_set_client = 'utf8mb4',
	SESSION collation_connection = 'utf8mb4_bin',
	SESSION character_set_results = 'utf8mb4'
