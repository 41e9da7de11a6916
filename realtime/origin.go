package realtime

import (
	"net/http"

	"github.com/lockstep-go/lockstep/realtime/origin"
)

// admits says whether the request comes from a page of ours: its one Origin is that of the request's own Host, or is
// listed. A missing Origin is no page of a browser's, and is not admitted.
func (h *Hub) admits(r *http.Request) bool {
	sent := r.Header.Values("Origin")
	if len(sent) != 1 {
		return false
	}
	o, err := origin.Parse(sent[0])
	return err == nil && o.Scheme != "" && (o.Of(r.Host) || h.origins.Has(o))
}

// admit answers a foreign request with 403 and tells the operator which setting would let it in.
func (h *Hub) admit(w http.ResponseWriter, r *http.Request) bool {
	if h.admits(r) {
		return true
	}
	h.log.Warn("refused a request from a foreign origin", "origin", clip(r.Header.Get("Origin")), "host", clip(r.Host),
		"setting", "Origins of the hub's configuration")
	http.Error(w, "this origin is not allowed here", http.StatusForbidden)
	return false
}

// clip bounds what a stranger can write into the log.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
