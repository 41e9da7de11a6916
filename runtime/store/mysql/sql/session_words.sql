-- D01: texts are UTF-8 and not cut to fit, within an application's transaction too.
SET SESSION character_set_client = ?, SESSION collation_connection = ?, SESSION character_set_results = ?,
	SESSION sql_mode = ?
