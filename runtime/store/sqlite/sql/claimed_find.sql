-- G10, G31: the message that goes back to ready.
SELECT message_id FROM lockstep_claimed WHERE instance_id = ?
