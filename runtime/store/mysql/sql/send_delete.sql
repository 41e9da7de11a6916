-- D48: delivered in the same transaction, so exactly once.
DELETE s FROM (/*rows*/SELECT ? AS k/*end*/) v STRAIGHT_JOIN lockstep_sends s ON s.position = v.k
