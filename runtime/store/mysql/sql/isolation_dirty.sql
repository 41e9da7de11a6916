-- Design 4: one look at what others are about to commit, so as not to wait for it.
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
