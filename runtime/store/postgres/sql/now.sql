-- G7: the database's clock, read after the locks are held.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint
