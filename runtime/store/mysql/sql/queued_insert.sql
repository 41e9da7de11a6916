-- G4, G5: messages behind the head; the primary key refuses a second of its sequence.
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES /*each*/(?, ?, ?)/*end*/
