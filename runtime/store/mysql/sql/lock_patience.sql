-- Design 4: how long this session waits for the rows of others, in seconds.
SET SESSION innodb_lock_wait_timeout = ?
