-- Rights that were withdrawn from open pages, by digests, for some minutes; the newest row stays, so that positions go on.
CREATE TABLE lockstep_revocations (
	position   INTEGER NOT NULL PRIMARY KEY,
	id         TEXT    NOT NULL,
	principal  TEXT    NOT NULL,
	session    TEXT    NOT NULL,
	actor      TEXT    NOT NULL,
	revoked_at INTEGER NOT NULL
) STRICT;
