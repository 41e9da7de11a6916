-- D40: one installs; whoever dies in the middle holds up others only for a while.
UPDATE lockstep_schema_migrations SET holder = ?, held_until =
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
WHERE version = 0 AND (holder IN ('', ?) OR held_until <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)))
