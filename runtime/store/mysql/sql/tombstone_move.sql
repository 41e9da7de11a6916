-- G28: whoever sweeps next goes on from here.
INSERT INTO lockstep_tombstones (instance_id, message_id) VALUES (?, ?)
ON DUPLICATE KEY UPDATE message_id = VALUES(message_id)
