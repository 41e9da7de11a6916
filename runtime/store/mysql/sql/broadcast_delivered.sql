-- G27: what was handed on is forgotten.
DELETE b FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v STRAIGHT_JOIN lockstep_broadcasts b ON b.id = v.k
