package actors_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/actors"
)

// Account is what one customer has.
type Account struct {
	Cents int64 `json:"cents"`
}

// Withdraw takes money out, and refuses for good what is not there.
func (a *Account) Withdraw(_ *actors.Turn[Account], cents int64) (int64, error) {
	if cents > a.Cents {
		return 0, actors.RejectWith("no_funds", "there is not enough money", map[string]int64{"missing": cents - a.Cents})
	}
	a.Cents -= cents
	return a.Cents, nil
}

// Balance is a read.
func (a Account) Balance() int64 { return a.Cents }

var (
	Accounts = actors.Define("account", func() Account { return Account{Cents: 500} })
	Withdraw = actors.Message[int64, int64](Accounts, "withdraw")
	Balance  = actors.Shared(Accounts, "balance", Account.Balance)
)

func init() { Withdraw.Handle((*Account).Withdraw) }

func ExampleDefine() {
	fmt.Println(Accounts.Definition().Check())
	fmt.Println(Balance.Of(Account{Cents: 12}))
	// Output:
	// <nil>
	// 12
}

func ExampleReject() {
	_, err := (&Account{Cents: 500}).Withdraw(nil, 700)
	if rejected, ok := errors.AsType[*actors.Rejected](err); ok {
		fmt.Println(rejected.Code, string(rejected.Details))
	}
	// Output: no_funds {"missing":200}
}

func ExampleType_Migrate() {
	accounts := actors.Define("account", func() Account { return Account{} })
	accounts.Migrate(1, func(state json.RawMessage) (json.RawMessage, error) { // version 1 had euros
		var old struct {
			Euros int64 `json:"euros"`
		}
		if err := json.Unmarshal(state, &old); err != nil {
			return nil, err
		}
		return json.Marshal(Account{Cents: 100 * old.Euros})
	})
	state, err := accounts.Definition().Load(1, json.RawMessage(`{"euros":7}`))
	fmt.Println(state.(*Account).Cents, err)
	// Output: 700 <nil>
}

func ExampleCheckID() {
	fmt.Println(actors.CheckID("alice"))
	fmt.Println(actors.CheckID("alice\n"))
	// Output:
	// <nil>
	// actor id of 6 bytes: must not contain control characters
}

func ExampleCheckDocument() {
	fmt.Println(actors.CheckDocument("arguments", []byte(`{"qty":1,"qty":100}`), 1000))
	// Output: arguments: a key stands twice in one object
}
