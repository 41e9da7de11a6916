package actors_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

// R39: what is stored of a revocation names nobody in the clear, and picks out those whom it is about.
func TestR39_RevocationsAreStoredAsDigests(t *testing.T) {
	cart := actors.Address{Type: "cart", ID: "alice's"}
	r := actors.Revocation{Principal: "alice", Session: "phone", Actor: cart}.Digests()
	for _, text := range []string{r.Principal, r.Session, r.Actor} {
		if len(text) != 43 || strings.Contains(text, "alice") || strings.Contains(text, "phone") {
			t.Errorf("a digest is %q", text)
		}
	}
	if r.Names("alice", "desk") || r.Names("bob", "phone") || !r.Names("alice", "phone") {
		t.Error("it names others, or not the one")
	}
	if !r.Concerns(cart) || r.Concerns(actors.Address{Type: "cart", ID: "bob's"}) {
		t.Error("it concerns another actor, or not this one")
	}
	everybody := actors.Revocation{Actor: cart}.Digests()
	if !everybody.Names("", "") || !everybody.Names("bob", "desk") {
		t.Error("it leaves somebody out")
	}
	socket := actors.Revocation{Session: "phone"}.Digests()
	if socket.Concerns(cart) || socket.Concerns(actors.Address{}) || socket.Names("alice", "") {
		t.Error("it concerns an actor, or a stranger")
	}
	if (actors.Revocation{}).Digests() != (actors.Revoked{}) {
		t.Error("an empty one says something")
	}
	if same := (actors.Revocation{Principal: "x"}).Digests(); same.Principal == (actors.Revocation{Session: "x"}).Digests().Session {
		t.Error("a principal and a session of one name have one digest")
	}
}
