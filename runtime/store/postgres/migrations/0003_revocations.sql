-- Rights that were withdrawn from open pages, by digests, for some minutes; the newest row stays, so that positions go on.
-- Whoever adds one locks the row of position 0, which says nothing.
CREATE TABLE lockstep.lockstep_revocations (
	position   bigint NOT NULL PRIMARY KEY,
	id         text   COLLATE "C" NOT NULL,
	principal  text   COLLATE "C" NOT NULL,
	session    text   COLLATE "C" NOT NULL,
	actor      text   COLLATE "C" NOT NULL,
	revoked_at bigint NOT NULL
);
