-- G23: performed effects leave the outbox.
DELETE e FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v STRAIGHT_JOIN lockstep_effects e ON e.id = v.k
