package actors

import (
	"crypto/sha256"
	"encoding/base64"
)

// Revocation names what was withdrawn from open pages. Without an Actor, the sockets of the principal, of the session, or
// of the session of the principal are closed. With an Actor, the subscriptions to it are checked: of everybody, or of
// those whom principal and session name. An empty one withdraws nothing.
type Revocation struct {
	Principal string
	Session   string
	Actor     Address
}

// Revoked is a Revocation as it is stored and told, by digests: who reads the database or a bus learns no session's name.
// A field that is "" names everybody.
type Revoked struct {
	Position  int64  // in the order in which they were committed, without gaps
	ID        string // of the revocation
	Principal string
	Session   string
	Actor     string
}

// Digests is the revocation as it is stored, without position and id.
func (r Revocation) Digests() Revoked {
	d := Revoked{Principal: digestOf("principal", r.Principal), Session: digestOf("session", r.Session)}
	if r.Actor != (Address{}) {
		d.Actor = digestOf("actor", r.Actor.Type+"\x00"+r.Actor.ID)
	}
	return d
}

// Names says whether it is about this principal and session, on whatever actor.
func (r *Revoked) Names(principal, session string) bool {
	return (r.Principal == "" || r.Principal == digestOf("principal", principal)) &&
		(r.Session == "" || r.Session == digestOf("session", session))
}

// Concerns says whether it is about this actor alone.
func (r *Revoked) Concerns(a Address) bool {
	return r.Actor != "" && r.Actor == digestOf("actor", a.Type+"\x00"+a.ID)
}

// digestOf is "" for nothing.
func digestOf(kind, name string) string {
	if name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + name))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
