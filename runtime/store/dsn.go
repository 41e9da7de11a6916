package store

// InvalidDSN reports a DSN that a driver cannot open: Reason says why without repeating any of it, since a password may
// stand anywhere in a text that was mistyped.
type InvalidDSN struct {
	Dialect string // of the driver that was asked
	Reason  string
}

func (e *InvalidDSN) Error() string {
	return "the DSN cannot be used (it is not shown, as it may hold a password): " + e.Reason
}
