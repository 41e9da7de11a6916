package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/web"
)

// News is what a list shows: the n-th news, and when it was published, in ms since 1970.
type News struct {
	N  int     `json:"n"`
	At float64 `json:"at"`
}

// Paper is the actor that the browser's page shows.
type Paper struct {
	Last News `json:"last"`
}

var (
	Papers  = actors.Define("paper", func() Paper { return Paper{} })
	Publish = actors.Message[News, actors.None](Papers, "publish")
	Last    = actors.Observable(Papers, "last", func(p Paper) News { return p.Last })
	List    = views.Component1("list", Last, func(n News) templ.Component { return templ.Raw(list("lockstep", n)) })
)

func init() {
	Publish.Handle(func(p *Paper, _ *actors.Turn[Paper], n News) (actors.None, error) {
		p.Last = n
		return actors.None{}, nil
	})
}

// list is about 3 KB of which one item is news.
func list(id string, news News) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<ul id="%s" data-at="%.3f">`, id, news.At)
	for i := range 60 {
		left := 7
		if i == 30 {
			left = news.N
		}
		fmt.Fprintf(&b, `<li id="%s-%d" class="line">Item %d: <b>%d</b> left</li>`, id, i, i, left)
	}
	return b.String() + "</ul>"
}

// livePage is an application whose page has the same list twice: ours, and one that Turbo streams bring over an event
// stream.
type livePage struct {
	live  *web.Live
	rt    *runtime.Runtime
	turbo chan string
	close func()
}

func openLivePage(ctx context.Context) (*livePage, error) {
	db, err := sqlite.Open(ctx, ":memory:")
	if err != nil {
		return nil, err
	}
	rt, err := runtime.Open(ctx, db, runtime.Config{Types: []actors.AnyType{Papers}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		db.Close()
		return nil, err
	}
	key := make([]byte, 32)
	rand.Read(key)
	p := &livePage{rt: rt, turbo: make(chan string), close: func() { rt.Close(); db.Close() }}
	if p.live, err = web.New(rt, web.Config{Keys: [][]byte{key}}); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *livePage) routes(r chi.Router) {
	p.live.Mount(r)
	r.Get("/live", p.live.Page(func(*http.Request) (templ.Component, error) {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			io.WriteString(w, `<!doctype html><meta charset="utf-8"><title>From publish to DOM</title>`+
				`<script type="importmap">{"imports": {"@hotwired/turbo": "/modules/@hotwired/turbo/dist/turbo.es2017-esm.js"}}</script>`+
				`<script type="module" src="/live.js"></script>`)
			if err := views.Script().Render(ctx, w); err != nil {
				return err
			}
			if err := views.Object(Papers.Ref("daily")).Render(templ.WithChildren(ctx, List), w); err != nil {
				return err
			}
			_, err := io.WriteString(w, list("turbo", News{}))
			return err
		}), nil
	}))
	r.Get("/turbo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		for out.Flush() == nil {
			select {
			case html := <-p.turbo:
				fmt.Fprintf(w, "data: <turbo-stream action=\"replace\" method=\"morph\" target=\"turbo\"><template>%s</template></turbo-stream>\n\n", html)
			case <-r.Context().Done():
				return
			}
		}
	})
}

// publish publishes the n-th news both ways, apart from each other.
func (p *livePage) publish(ctx context.Context, n int) error {
	now := func() News { return News{N: n, At: float64(time.Now().UnixMicro()) / 1000} }
	if _, err := Publish.Ask(ctx, p.rt, Papers.Ref("daily"), now()); err != nil {
		return err
	}
	time.Sleep(rest / 2)
	select {
	case p.turbo <- list("turbo", now()):
	case <-time.After(patience):
		return fmt.Errorf("the page does not listen to Turbo's stream")
	}
	time.Sleep(rest / 2)
	return nil
}
