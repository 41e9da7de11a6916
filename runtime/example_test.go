package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// Jar holds so many biscuits.
type Jar struct {
	Biscuits int `json:"biscuits"`
}

// Take takes biscuits out, and never more than there are.
func (j *Jar) Take(t *actors.Turn[Jar], n int) (int, error) {
	if n > j.Biscuits {
		return 0, actors.Reject("too_few", "there are not so many biscuits")
	}
	j.Biscuits -= n
	if j.Biscuits == 0 {
		Refill.Schedule(t, actors.In(10*time.Millisecond))
	}
	return j.Biscuits, nil
}

// Refill fills the jar again.
func (j *Jar) Refill(*actors.Turn[Jar]) error {
	j.Biscuits = 10
	return nil
}

var (
	Jars   = actors.Define("jar", func() Jar { return Jar{Biscuits: 10} })
	Take   = actors.Message[int, int](Jars, "take")
	Refill = actors.Bare(Jars, "refill")
)

func init() {
	Take.Handle((*Jar).Take)
	Refill.Handle((*Jar).Refill)
}

func Example() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rt, err := runtime.Open(ctx, db, runtime.Config{Types: []actors.AnyType{Jars}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- rt.Run(running) }()

	left, err := Take.Ask(ctx, rt, Jars.Ref("kitchen"), 4)
	fmt.Println(left, err)
	_, err = Take.Ask(ctx, rt, Jars.Ref("kitchen"), 7)
	if rejected, ok := errors.AsType[*actors.Rejected](err); ok {
		fmt.Println(rejected.Code)
	}
	jar, err := Jars.Ref("kitchen").Snapshot(ctx, rt)
	fmt.Println(jar.Biscuits, err)

	stop()
	fmt.Println(<-ended)
	// Output:
	// 6 <nil>
	// too_few
	// 6 <nil>
	// <nil>
}

// An idempotency key makes a repeated call the same message.
func ExampleRuntime_idempotency() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rt, err := runtime.Open(ctx, db, runtime.Config{Types: []actors.AnyType{Jars}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	for range 3 { // Run is not running: each Ask runs the actor inside the call
		left, err := Take.Ask(ctx, rt, Jars.Ref("office"), 2, actors.IdempotencyKey("press-17"))
		fmt.Println(left, err)
	}
	_, err = Take.Ask(ctx, rt, Jars.Ref("office"), 3, actors.IdempotencyKey("press-17"))
	if conflict, ok := errors.AsType[*actors.IdempotencyConflict](err); ok {
		fmt.Println("conflict of", conflict.Differs)
	}
	// Output:
	// 8 <nil>
	// 8 <nil>
	// 8 <nil>
	// conflict of arguments
}
