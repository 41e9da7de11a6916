-- D08: what the server is, and what it promises about packets and commits.
SELECT VERSION(), @@GLOBAL.max_allowed_packet, @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin,
	@@GLOBAL.sync_binlog, DATABASE()
