package postgres

import (
	"slices"
	"time"

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

// Unlearn makes a store read what the next flush is about.
func (s *Store) Unlearn() {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.boxes, s.memory.byKey, s.memory.news = nil, nil, nil
}

// Remembered is how many instances a store knows.
func (s *Store) Remembered() int { return len(s.memory.boxes) }

// MistakeClock makes a store expect the database's clock somewhere else.
func (s *Store) MistakeClock(by time.Duration) { s.memory.reading += by.Microseconds() }
