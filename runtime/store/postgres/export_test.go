package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
)

// Placed is a text as a store of that schema and prefix sends it.
var Placed = placed

// Settings is the statement that every transaction begins with.
func Settings() string { return texts[settings] }

// Declared says whether a text is one that stores send.
func Declared(text string) bool { return slices.Contains(texts, text) }

// Unwrap is the transaction that an action is given.
func Unwrap(tx actors.Tx) pgx.Tx { return tx.(transaction).tx }
