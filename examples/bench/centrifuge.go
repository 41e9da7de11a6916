package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"
)

// stall is how long a client may take nothing: as long as our hub lets it, where the default is a second, which busy
// processors alone can make it.
const stall = 10 * time.Second

// serveCentrifuge is a node with its WebSocket handler and, but for that, default settings. Each page is a channel; who subscribes is
// given what the page shows.
func serveCentrifuge(_ context.Context, ln net.Listener) (func(string, int) error, error) {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	shown := map[string][]byte{pageOne: []byte("null"), pageMany: []byte("null")}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{}}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(e centrifuge.SubscribeEvent, answer centrifuge.SubscribeCallback) {
			mu.Lock()
			data := shown[e.Channel]
			mu.Unlock()
			answer(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{Data: data}}, nil)
		})
	})
	if err := node.Run(); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{WriteTimeout: stall}))
	go func() {
		fmt.Fprintln(os.Stderr, "centrifuge:", http.Serve(ln, mux))
		os.Exit(1)
	}()
	n := 0
	return func(page string, size int) error {
		n++
		all := make([]json.RawMessage, pushed(page))
		for k := range all {
			all[k] = asJSON(fragment(k, n, size))
		}
		current, err := json.Marshal(all)
		if err != nil {
			return err
		}
		mu.Lock()
		shown[page] = current
		mu.Unlock()
		for _, data := range all {
			if _, err := node.Publish(page, data); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// asJSON is HTML as a JSON string that is not longer than it must be.
func asJSON(html string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(html) // a string cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// openCentrifuge connects and subscribes to the page's channel in one frame.
func openCentrifuge(addr, page string) (opening, error) {
	return opening{
		request: upgrade(addr, "/connection/websocket", ""),
		status:  "HTTP/1.1 101",
		then:    masked(fmt.Appendf(nil, "{\"id\":1,\"connect\":{}}\n{\"id\":2,\"subscribe\":{\"channel\":%q}}", page)),
		parser:  func() parser { return &frames{} },
		means: func(line string) meaning {
			switch {
			case strings.HasPrefix(line, `{"push"`):
				return meaning{event: true}
			case strings.Contains(line, `"error"`):
				return meaning{failed: "refused: " + line}
			case strings.HasPrefix(line, `{"id":2`):
				return meaning{current: true}
			case line == "{}":
				return meaning{answer: masked([]byte("{}"))}
			}
			return meaning{}
		},
	}, nil
}
