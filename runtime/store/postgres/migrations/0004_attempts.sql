-- G16: the attempt of a claimed message is counted by its row in claimed, and in its own only when the claim ends: a turn
-- changes one message, not two.
UPDATE lockstep.lockstep_messages SET attempts = attempts - 1
WHERE attempts > 0 AND id = ANY (ARRAY(SELECT c.message_id FROM lockstep.lockstep_claimed c));
