-- G4: a claimed head is not ready.
DELETE r FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v STRAIGHT_JOIN lockstep_ready r ON r.instance_id = v.k
