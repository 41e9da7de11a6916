// Package field holds whole runtimes to the field cases, on each of the three databases: several builds on one database
// during a deployment, upgrades from every released schema, installers that race, servers that become read-only, clocks
// that disagree, actors that end in the middle of something. It has tests only.
//
//	go test ./runtime/field                       # at the sizes of CI
//	LOCKSTEP_TEST_FULL=1 go test ./runtime/field  # at the stated ones
//
// A database without a server is skipped, unless LOCKSTEP_TEST_REQUIRE_POSTGRES or LOCKSTEP_TEST_REQUIRE_MYSQL is 1.
package field
