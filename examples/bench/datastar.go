package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/starfederation/datastar-go/datastar"
)

// serveDatastar is a handler with a stream for each connection, as in the library's examples. Who gets what is left to
// the application there: a channel for each stream, as long as a burst.
func serveDatastar(_ context.Context, ln net.Listener) (func(string, int) error, error) {
	var mu sync.Mutex
	streams := map[string]map[chan string]bool{pageOne: {}, pageMany: {}}
	shown := map[string]string{pageOne: `<ul id="t0"></ul>`, pageMany: `<ul id="t0"></ul>`}
	mux := http.NewServeMux()
	mux.HandleFunc("/{page}", func(w http.ResponseWriter, r *http.Request) {
		page := r.PathValue("page")
		if streams[page] == nil {
			http.NotFound(w, r)
			return
		}
		sse := datastar.NewSSE(w, r)
		news := make(chan string, targets)
		mu.Lock()
		streams[page][news] = true
		current := shown[page]
		mu.Unlock()
		defer func() {
			mu.Lock()
			delete(streams[page], news)
			mu.Unlock()
		}()
		if sse.PatchElements(current) != nil {
			return
		}
		for {
			select {
			case html := <-news:
				if sse.PatchElements(html) != nil {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
	})
	go func() {
		fmt.Fprintln(os.Stderr, "datastar:", http.Serve(ln, mux))
		os.Exit(1)
	}()
	n := 0
	return func(page string, size int) error {
		n++
		all := make([]string, pushed(page))
		for k := range all {
			all[k] = fragment(k, n, size)
		}
		mu.Lock()
		defer mu.Unlock()
		shown[page] = strings.Join(all, "")
		for _, html := range all {
			for news := range streams[page] {
				select {
				case news <- html:
				default:
					return fmt.Errorf("a stream lags behind by %d events", targets)
				}
			}
		}
		return nil
	}, nil
}

// openDatastar asks for the stream, whose first event is what the page shows.
func openDatastar(addr, page string) (opening, error) {
	return opening{
		request: "GET /" + page + " HTTP/1.1\r\nHost: " + addr + "\r\nAccept: text/event-stream\r\n\r\n",
		status:  "HTTP/1.1 200",
		parser:  func() parser { return &events{} },
		means: func(line string) meaning {
			if strings.HasPrefix(line, "event: datastar-patch-elements") {
				return meaning{event: true, current: true}
			}
			return meaning{}
		},
	}, nil
}
