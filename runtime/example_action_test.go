package runtime_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// Till is one cash register.
type Till struct {
	Cents int `json:"cents"`
}

// Sale is a line of the books.
type Sale struct {
	What  string `json:"what"`
	Cents int    `json:"cents"`
}

// Sell takes the money, and has the sale written into the books by the same commit.
func (c *Till) Sell(t *actors.Turn[Till], in Sale) (int, error) {
	c.Cents += in.Cents
	Enter.Stage(t, in)
	return c.Cents, nil
}

var (
	Tills = actors.Define("till", func() Till { return Till{} })
	Sell  = actors.Message[Sale, int](Tills, "sell")
	Enter = actors.CommitAction[Sale](Tills, "enter_sale")
)

func init() { Sell.Handle((*Till).Sell) }

// enter writes a sale into the application's own table, inside the transaction that commits the till's turn.
func enter(ctx context.Context, tx *sql.Tx, c actors.Committing[Sale]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO books (till, number, what, cents) VALUES (?, ?, ?, ?)", c.ActorID, c.Sequence, c.In.What, c.In.Cents)
	return err
}

// Rows of the application's and the actor's state are written together, or not at all.
func ExampleConfig_commitAction() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	err = db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE books (till TEXT, number INTEGER, what TEXT, cents INTEGER CHECK (cents < 10000))")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	rt, err := runtime.Open(ctx, db, runtime.Config{
		Types:    []actors.AnyType{Tills},
		Actions:  []actors.CommitExecutor{sqlite.Action(Enter, enter)},
		Attempts: 1,
		Policy:   actors.InsecureAllowAll(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	for _, sale := range []Sale{{"a mug", 900}, {"a piano", 90_000}, {"a cup", 500}} {
		cents, err := Sell.Ask(ctx, rt, Tills.Ref("front"), sale)
		fmt.Println(sale.What, cents, err == nil)
	}
	var entered int
	err = db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT sum(cents) FROM books").Scan(&entered)
	})
	if err != nil {
		log.Fatal(err)
	}
	till, err := Tills.Ref("front").Snapshot(ctx, rt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in the till", till.Cents, "in the books", entered)
	// Output:
	// a mug 900 true
	// a piano 0 false
	// a cup 1400 true
	// in the till 1400 in the books 1400
}
