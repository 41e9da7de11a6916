-- G34: effects that failed for good go with the history of their time.
DELETE e FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v STRAIGHT_JOIN lockstep_effects e ON e.id = v.k
