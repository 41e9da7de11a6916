-- Rights that were withdrawn from open pages, by digests, for some minutes; the newest row stays, so that positions go on.
-- Whoever adds one locks the row of position 0, which says nothing.
CREATE TABLE IF NOT EXISTS lockstep_revocations (
	position   BIGINT         NOT NULL,
	id         VARBINARY(191) NOT NULL,
	principal  VARBINARY(191) NOT NULL,
	session    VARBINARY(191) NOT NULL,
	actor      VARBINARY(191) NOT NULL,
	revoked_at BIGINT         NOT NULL,
	PRIMARY KEY (position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
