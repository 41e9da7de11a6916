-- G4, G6: one message of an actor at a time; the primary key refuses a second.
INSERT INTO lockstep_claimed (instance_id, sequence, message_id, claimed_at) VALUES (?, ?, ?, ?)
