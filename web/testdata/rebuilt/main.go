// Command rebuilt is a small server that a test builds in two versions: the second has another name for a component.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/web"
)

// name is the component's; the linker sets another one.
var name = "score"

// Game counts.
type Game struct {
	Points int `json:"points"`
}

// Score adds a point.
func (g *Game) Score(*actors.Turn[Game], actors.None) (int, error) {
	g.Points++
	return g.Points, nil
}

var (
	Games  = actors.Define("game", func() Game { return Game{} })
	Add    = actors.Message[actors.None, int](Games, "add")
	Points = actors.Shared(Games, "points", func(g Game) int { return g.Points })
	Score  = views.Component1(name, Points, score)
	Banner = views.Component1("banner", Points, banner)
)

func init() { Add.Handle((*Game).Score) }

func score(points int) templ.Component { return text(`<b class="score">%d</b>`, points) }

func banner(points int) templ.Component { return text(`<i class="banner">%d</i>`, points) }

func text(format string, args ...any) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

// game is the one in the request's address.
func game(r *http.Request) (actors.Ref[Game], error) { return Games.Ref(chi.URLParam(r, "game")), nil }

// page shows one game by the component that is renamed, and another by one that is not.
func page() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		inside := func(c templ.Component) context.Context { return templ.WithChildren(ctx, c) }
		for _, part := range []struct {
			ctx context.Context
			c   templ.Component
		}{
			{ctx, templ.Raw(`<!doctype html><html lang="en"><head><title>rebuilt</title>`)}, {ctx, views.Script()}, {ctx, templ.Raw(`</head><body>`)},
			{inside(Score), views.Object(Games.Ref("one"))}, {inside(Banner), views.Object(Games.Ref("two"))}, {ctx, templ.Raw(`</body></html>`)},
		} {
			if err := part.c.Render(part.ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// run serves a database's games at an address until it is told to end, and says when it listens.
func run(addr, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	rt, err := runtime.Open(ctx, db, runtime.Config{Types: []actors.AnyType{Games}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		return err
	}
	defer rt.Close()
	live, err := web.New(rt, web.Config{Keys: [][]byte{[]byte("32 random bytes of the site's own")}})
	if err != nil {
		return err
	}
	r := chi.NewRouter()
	r.Use(live.Middleware)
	live.Mount(r)
	r.Get("/", live.Page(func(*http.Request) (templ.Component, error) { return page(), nil }))
	r.Post("/add/{game}", web.Action(live, Add, game, web.Answer{Next: "/"}))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	return live.ServeListener(ctx, l, r)
}
