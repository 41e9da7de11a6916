-- D40: the record of what is installed, and of who is installing.
CREATE TABLE IF NOT EXISTS lockstep_schema_migrations (
	version      BIGINT         NOT NULL, -- 0 is the row that an installer holds
	identity     VARBINARY(191) NOT NULL,
	installation VARBINARY(191) NOT NULL, -- made at random when the first was installed
	installed_at BIGINT         NOT NULL,
	holder       VARBINARY(191) NOT NULL DEFAULT '',
	held_until   BIGINT         NOT NULL DEFAULT 0,
	PRIMARY KEY (version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
