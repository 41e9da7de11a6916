// Package wire is what pages and the hub exchange: target names, signed tokens and frames. It knows no sockets, so
// that a program which only renders pages links none. docs/protocol.md is its description for the other side.
package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/lockstep-go/lockstep/actors"
)

// Subprotocol is what a socket must speak: this version of the protocol.
const Subprotocol = "lockstep.v1"

// AnyVersion is the subprotocol that clients and servers of every version know. A client offers it beside its own
// version; a server that knows no version offered picks it and closes with CloseVersion, since a browser tells a page
// nothing of a handshake that failed.
const AnyVersion = "lockstep"

// Bounds of the protocol.
const (
	MaxFrameBytes = 128 << 10 // of a client's frame
	MaxTargets    = 1000      // of one scope
	MaxTokenBytes = 64 << 10  // encoded
	MaxInflated   = 256 << 10 // of a token's payload
	MaxScopeName  = 32        // bytes of the name a client gives a scope
)

// Target is one thing shown of an actor: a component, or the value of a shared observable.
type Target struct {
	Component string          `json:"c"` // the component's name, or "=" and the observable's
	Key       string          `json:"k,omitempty"`
	Params    json.RawMessage `json:"p,omitempty"` // of a keyed component, as encoded by the server
}

// Name is the target's name in a page: a digest of actor, component, key and parameters in 22 characters. It reveals
// none of them, and different ones never share a name.
func (t Target) Name(of actors.Address) string {
	h := sha256.New()
	var size [8]byte
	for _, part := range []string{of.Type, of.ID, t.Component, t.Key, string(t.Params)} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// Reason says why a subscribe was refused or a subscription ended.
type Reason string

// The closed list of reasons; what a client does about each stands in docs/protocol.md.
const (
	Denied     Reason = "denied"
	Unknown    Reason = "unknown"
	BadToken   Reason = "bad_token"
	UnknownKey Reason = "unknown_key"
	Expired    Reason = "expired"
	Limit      Reason = "limit"
	BadRequest Reason = "bad_request"
	Later      Reason = "later"
	Newer      Reason = "newer"
	Failed     Reason = "error"
)

// Retry says whether a client may come back with the same token.
func (r Reason) Retry() bool { return r == Later || r == Newer || r == Failed }

// Close codes beside those of RFC 6455.
const (
	CloseProtocol = 4400 // frames that are no protocol
	CloseRevoked  = 4401 // the session was ended or revoked: do not come back
	CloseStalled  = 4408 // no heartbeat answer, or a reader too slow
	CloseTooMany  = 4429 // connections of one user or session
	CloseVersion  = 4426 // another version of the protocol
)
