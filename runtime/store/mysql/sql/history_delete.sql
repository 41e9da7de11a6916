-- G28, G34: history goes in bounded batches.
DELETE m FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v STRAIGHT_JOIN lockstep_messages m ON m.id = v.k
