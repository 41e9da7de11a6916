-- D09, D41: the server's clock, read by a statement of its own after the lock is held; UTC has no second hour twice.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
