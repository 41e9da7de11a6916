// Package static holds the browser client, embedded: a few ES modules that keep the scopes of a page current over one
// socket. docs/protocol.md says what they and the server say to each other.
//
// The modules are served below an address that contains a digest of their bytes, so that browsers may keep them for
// good and a new build is never mixed with an old one's files. They need no build step, run under
// "Content-Security-Policy: default-src 'self'", and parse HTML through one Trusted Types policy called "lockstep".
//
// # What a page may count on
//
// An update leaves alone what the user is doing: focus, caret and selection, typed text, ticks and choices, an open
// details or dialog, text in composition, a button that is pressed. It leaves alone what did not change, and whatever
// carries data-ls-keep. Rows that can move keep their fields' text if each is a component of its own or has an id;
// several elements with data-ls-keep that can move among each other need ids.
//
// Besides the events of the protocol, a field whose default the server changed while the user's own text was in it
// hears lockstep:conflict (detail.value, bubbling), and document hears lockstep:build (detail.build) when a reconnect
// finds another build than before. Nothing is reloaded; that is for the application to decide.
//
// # Beside Turbo and htmx
//
// Scopes may be swapped in and out by either, by morphs too: each one that is shown has one subscription, and one that
// somebody else's morph wrote over is asked for anew. A form of ours that such a library has taken over is the ordinary
// POST that it is without this client; data-turbo="false" (or hx-boost="false") on it or around it leaves it to the client.
//
// # Concurrency
//
// Everything here may be used by any number of goroutines.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Entry is the file that a page names in its script element; it imports the others by relative addresses.
const Entry = "lockstep.js"

// Style is a stylesheet of one rule that a page may link, so that scopes have no box before the client runs, and none
// without it.
const Style = "lockstep.css"

//go:embed *.js lockstep.css
var files embed.FS

// types are the content types, written out because a machine's own table may say something else or nothing.
var types = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
}

// Digest names this build of the client: a short hexadecimal digest over the names and bytes of its files.
func Digest() string { return digest() }

var digest = sync.OnceValue(func() string {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n", name, len(body))
		sum.Write(body)
		return err
	})
	if err != nil {
		panic(err) // embedded files are always readable
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
})

// Handler serves /DIGEST/FILE: below the current digest to be kept for a year, below any other with the current file
// and no-cache, so that a page of an older build still finds a client. Everything else is 404. Mount it with
// http.StripPrefix.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dir, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		body, err := files.ReadFile(name)
		if !ok || dir == "" || err != nil {
			http.NotFound(w, r)
			return
		}
		cache := "no-cache"
		if dir == Digest() {
			cache = "public, max-age=31536000, immutable"
		}
		header := w.Header()
		header.Set("Content-Type", types[path.Ext(name)])
		header.Set("Cache-Control", cache)
		header.Set("ETag", `"`+Digest()+`"`)
		header.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body)) // HEAD, ranges and If-None-Match
	})
}
