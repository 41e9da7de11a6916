// Package grammar checks every statement of package mysql against the grammar of MySQL 8, with the parser of TiDB. It
// is a module of its own, so that nobody else needs what the parser needs:
//
//	cd runtime/store/mysql/grammar && go test -count=1 ./...
//
// No statement is run: what has been run, and on which server, is said in package mysql.
package grammar
