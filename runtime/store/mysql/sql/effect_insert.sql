-- G12, G23: an effect exists once its turn has committed, under an id that no attempt changes.
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, max_attempts, due_at, meta)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)/*end*/
