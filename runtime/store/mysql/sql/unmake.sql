-- G1: an instance without a message was made for one that history knows.
DELETE i FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v STRAIGHT_JOIN lockstep_instances i ON i.id = v.k
