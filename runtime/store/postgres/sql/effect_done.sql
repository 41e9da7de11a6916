-- G23: a performed effect leaves the outbox.
DELETE FROM lockstep.lockstep_effects WHERE id = ANY ($1::text[])
