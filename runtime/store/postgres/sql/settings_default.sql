-- G11: application code that runs in the store's transaction meets the connection's own settings.
SELECT set_config(name, reset_val, true) FROM pg_settings
WHERE name IN ('plan_cache_mode', 'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'lock_timeout')
