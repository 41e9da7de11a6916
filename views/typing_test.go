package views_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What a user gets a compile error for. Each snippet is the body of a package that knows two actor types.
func TestMistakesThatDoNotCompile(t *testing.T) {
	check := compiler(t)
	const fine = `var _ = views.Component2("c", Items, Total, func([]string, int) templ.Component { return nil }).PerViewer()
		var line = views.Keyed1("l", Items, func(p Params, items []string) templ.Component { return nil })
		var _ = []templ.Component{views.Value(Total), line.Each("k", Params{}), views.Object(Carts.Ref("a")), views.Form(Add, "/"), views.Form(Close, "/")}`
	if err := check(fine); err != nil {
		t.Fatalf("what is right does not compile: %v", err)
	}
	for name, snippet := range map[string]string{
		"value of an observable that is not shared": `var _ = views.Value(Items)`,
		"component of two actors":                   `var _ = views.Component2("c", Items, OnHand, func([]string, int) templ.Component { return nil })`,
		"component with other arguments":            `var _ = views.Component1("c", Items, func(int) templ.Component { return nil })`,
		"component with too few arguments":          `var _ = views.Component2("c", Items, Total, func([]string) templ.Component { return nil })`,
		"keyed without its parameters":              `var _ = views.Keyed1("c", Items, func([]string) templ.Component { return nil })`,
		"keyed with other parameters": `var line = views.Keyed1("l", Items, func(p Params, items []string) templ.Component { return nil })
			var _ = line.Each("k", "params")`,
		"form of an observable": `var _ = views.Form(Total, "/")`,
		"object of an id":       `var _ = views.Object("a")`,
	} {
		if err := check(snippet); err == nil {
			t.Errorf("%s compiles", name)
		}
	}
}

// compiler type-checks snippets against the packages as they are built.
func compiler(t *testing.T) func(snippet string) error {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", ".").Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	const before = `package p
import ("github.com/a-h/templ"; "github.com/lockstep-go/lockstep/actors"; "github.com/lockstep-go/lockstep/views")
type Cart struct{}
type Stock struct{}
type Params struct{}
var (
	Carts = actors.Define("cart", func() Cart { return Cart{} })
	Stocks = actors.Define("stock", func() Stock { return Stock{} })
	Items = actors.Observable(Carts, "items", func(Cart) []string { return nil })
	Total = actors.Shared(Carts, "total", func(Cart) int { return 0 })
	OnHand = actors.Shared(Stocks, "on_hand", func(Stock) int { return 0 })
	Add = actors.Message[int, int](Carts, "add")
	Close = actors.Bare(Carts, "close")
)
var _ templ.Component = views.Script()
`
	return func(snippet string) error {
		file, err := parser.ParseFile(fset, "snippet.go", before+snippet, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conf.Check("p", fset, []*ast.File{file}, nil)
		return err
	}
}
