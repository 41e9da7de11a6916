-- D40: the row that an installer holds.
INSERT INTO lockstep_schema_migrations (version, identity, installation, installed_at)
VALUES (0, ?, '', 0)
ON DUPLICATE KEY UPDATE version = VALUES(version)
