-- Design 4: plans use the indexes whatever the statistics say, and are made once and not compiled, which would take longer than they do; a wait for a lock ends. All of it ends with the transaction.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true), set_config('lock_timeout', $1::text, true)
