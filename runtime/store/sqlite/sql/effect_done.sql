-- G23: a performed effect leaves the outbox.
DELETE FROM lockstep_effects WHERE id = ?
