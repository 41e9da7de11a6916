package sqlite

import (
	"database/sql"

	"github.com/lockstep-go/lockstep/actors"
)

// Unwrap is the transaction that an action is given.
func Unwrap(tx actors.Tx) *sql.Tx { return tx.(transaction).tx }
