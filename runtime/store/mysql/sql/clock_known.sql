-- D09, D27: as clock, with those of the new messages' ids that history knows.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)), NULL
UNION ALL
SELECT 0, m.id FROM lockstep_messages m FORCE INDEX (PRIMARY) WHERE m.id IN (/*each*/?/*end*/)
