-- G20: others look for work; no disk is waited for, since a lost hint costs one poll.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)
