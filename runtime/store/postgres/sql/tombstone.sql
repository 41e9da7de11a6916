-- G28: history without an instance is unreachable; Sweep deletes it.
INSERT INTO lockstep.lockstep_tombstones (instance_id) VALUES ($1::text) ON CONFLICT DO NOTHING
