package realtime

import (
	"encoding/json"
	"mime"
	"net/http"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// maxRefreshBytes bounds the body of a refresh: every target of a scope with a token of its own.
const maxRefreshBytes = 2 << 20

// Refresh makes one new token out of authentic ones of one actor, expired or not, after asking the policies about the
// viewer who sent r. The new token says only what all of them say: where their stamps differ it has none, and the
// subscribe that follows is answered with everything. A reason other than "" says why there is no token.
func (h *Hub) Refresh(r *http.Request, tokens []string) (string, wire.Reason) {
	if len(tokens) == 0 {
		return "", wire.BadRequest
	}
	claim, opened, reason := h.open(tokens, true)
	if reason != "" {
		return "", reason
	}
	if !h.acquire(r.Context(), h.pushes) {
		return "", wire.Later
	}
	defer h.free(h.pushes)
	if h.authorize(h.cfg.ViewerContext(r), claim.actor) != nil {
		return "", wire.Denied
	}
	merged := wire.Token{Actor: claim.actor, Targets: claim.targets, Stamp: opened[0].Stamp, Build: opened[0].Build, Viewer: opened[0].Viewer}
	for _, t := range opened[1:] {
		if t.Stamp != merged.Stamp || t.Build != merged.Build || t.Viewer != merged.Viewer {
			merged.Stamp, merged.Build, merged.Viewer = actors.Stamp{Revision: -1}, "", ""
		}
	}
	text, err := h.cfg.Sealer.Seal(merged)
	if err != nil {
		return "", wire.Limit
	}
	return text, ""
}

// RefreshHandler serves the refresh route. Only a page of ours may post to it.
func (h *Hub) RefreshHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-store")
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "tokens are refreshed with POST", http.StatusMethodNotAllowed)
			return
		}
		if !h.admit(w, r) {
			return
		}
		var body struct {
			Tokens []string `json:"tokens"`
		}
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		text, reason := "", wire.BadRequest
		if err == nil && kind == "application/json" &&
			json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRefreshBytes)).Decode(&body) == nil {
			text, reason = h.Refresh(r, body.Tokens)
		}
		answer := any(map[string]string{"token": text})
		w.Header().Set("Content-Type", "application/json")
		if reason != "" {
			answer = map[string]string{"reason": string(reason)}
			w.WriteHeader(http.StatusForbidden)
		}
		json.NewEncoder(w).Encode(answer)
	})
}
