-- D40: a migration is recorded once it is there.
INSERT INTO lockstep_schema_migrations (version, identity, installation, installed_at)
VALUES (?, ?, ?, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)))
ON DUPLICATE KEY UPDATE version = VALUES(version)
