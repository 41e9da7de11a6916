package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/web"
)

// Board is what a page shows.
type Board struct {
	Shows Shown `json:"shows"`
}

// Shown is how often a board has changed, and the size of its fragments.
type Shown struct {
	N    int `json:"n"`
	Size int `json:"size"`
}

// Line is which fragment a component shows.
type Line struct{ K int }

var (
	Boards = actors.Define("board", func() Board { return Board{} })
	Change = actors.Message[int, actors.None](Boards, "change") // to fragments of a size
	Shows  = actors.Observable(Boards, "shows", func(b Board) Shown { return b.Shows })
	Lines  = views.Keyed1("line", Shows, func(l Line, s Shown) templ.Component { return templ.Raw(fragment(l.K, s.N, s.Size)) })
)

func init() {
	Change.Handle(func(b *Board, _ *actors.Turn[Board], size int) (actors.None, error) {
		b.Shows = Shown{N: b.Shows.N + 1, Size: size}
		return actors.None{}, nil
	})
}

// boardPage shows a board, with one component or with all of them.
func boardPage(page string) templ.Component {
	lines := make([]templ.Component, pushed(page))
	for k := range lines {
		lines[k] = Lines.Each(strconv.Itoa(k), Line{k})
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return views.Object(Boards.Ref(page)).Render(templ.WithChildren(ctx, templ.Join(lines...)), w)
	})
}

// serveLockstep is a whole application: a change is a turn of an actor, which commits, and the hub reads, renders and
// pushes.
func serveLockstep(ctx context.Context, ln net.Listener) (func(string, int) error, error) {
	path := os.Getenv("BENCH_DATABASE")
	if path == "" {
		path = ":memory:"
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	rt, err := runtime.Open(ctx, db, runtime.Config{Types: []actors.AnyType{Boards}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	rand.Read(key)
	live, err := web.New(rt, web.Config{Keys: [][]byte{key}})
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(live.Middleware)
	live.Mount(r)
	for _, page := range []string{pageOne, pageMany} {
		r.Get("/"+page, live.Page(func(*http.Request) (templ.Component, error) { return boardPage(page), nil }))
	}
	go func() {
		if err := live.ServeListener(ctx, ln, r); err != nil {
			fmt.Fprintln(os.Stderr, "lockstep:", err)
			os.Exit(1)
		}
	}()
	return func(page string, size int) error {
		_, err := Change.Ask(ctx, rt, Boards.Ref(page), size)
		return err
	}, nil
}

var scopeToken = regexp.MustCompile(`<lockstep-scope token="([^"]+)"`)

// openLockstep takes the page's token from the page, as a browser does, and asks for everything anew, as it does after a
// connection was lost.
func openLockstep(addr, page string) (opening, error) {
	answer, err := http.Get("http://" + addr + "/" + page)
	if err != nil {
		return opening{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return opening{}, err
	}
	token := scopeToken.FindSubmatch(text)
	if token == nil {
		return opening{}, errors.New("the page shows no scope")
	}
	subscribe, err := json.Marshal(wire.Command{Type: "sub", Number: 1, Scope: "s1", Token: string(token[1])})
	if err != nil {
		return opening{}, err
	}
	return opening{
		request: upgrade(addr, "/lockstep/socket", wire.Subprotocol),
		status:  "HTTP/1.1 101",
		then:    masked(subscribe),
		parser:  func() parser { return &frames{} },
		means: func(line string) meaning {
			switch {
			case strings.HasPrefix(line, `{"t":"f"`):
				return meaning{event: true}
			case strings.HasPrefix(line, `{"t":"ok"`):
				return meaning{current: true}
			case strings.HasPrefix(line, `{"t":"ping"`):
				return meaning{answer: masked([]byte(`{"t":"pong"}`))}
			case strings.HasPrefix(line, `{"t":"no"`):
				var no wire.Frame
				if err := json.Unmarshal([]byte(line), &no); err != nil || !no.Retry {
					return meaning{failed: "refused: " + line}
				}
				return meaning{answer: masked(subscribe), after: no.After}
			}
			return meaning{}
		},
	}, nil
}
