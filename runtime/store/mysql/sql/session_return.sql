-- The application's connection goes back as it came.
SET SESSION autocommit = @lockstep_autocommit,
	SESSION sql_mode = @lockstep_sql_mode,
	SESSION innodb_lock_wait_timeout = @lockstep_innodb_lock_wait_timeout,
	SESSION unique_checks = @lockstep_unique_checks,
	SESSION character_set_client = @lockstep_character_set_client,
	SESSION collation_connection = @lockstep_collation_connection,
	SESSION character_set_results = @lockstep_character_set_results
