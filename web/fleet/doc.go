// Package fleet holds the tests of several processes that serve one site from one database: what pages show wherever their
// socket is, when hints are lost, when a process is killed, and what a revocation reaches. They run this test's own binary
// as child processes.
package fleet
