-- D48: a target that takes no more delays only its own.
UPDATE lockstep_sends s FORCE INDEX (PRIMARY) SET s.due_at = ? WHERE s.position IN (/*each*/?/*end*/)
