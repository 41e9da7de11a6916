// Package admin is the operators' subcommand, for an application to mount in its own binary: it knows the application's
// types, opens its database and is subject to its Administer policy, like every other way in.
//
//	os.Exit(admin.Command(ctx, rt, os.Args[2:], os.Stdout, os.Stderr)) // shop admin status
//
// The ctx carries who is asking, in whatever way the policy recognizes. The Runtime need not run; it works beside
// processes that do.
//
// # Output
//
// Tables for people; with --json one document for programs, whose fields are only ever added to. Arguments of messages and
// texts of errors, which may hold anything, are printed with --details only, and the policy is asked about that by
// another name. Messages about what went wrong go to stderr.
//
// # Exit codes
//
//	0  it was done; of doctor: no check failed
//	1  it was refused or failed, or what was named is not there, or not everything could be retried; of doctor: a check failed
//	2  the command line was not understood, or asks for more than is done at once; nothing was done
package admin
