// The shop is a small real shop on all of Lockstep: live stock, carts whose reservations lapse, a checkout against a
// payment service that may be slow, fail or repeat itself, and a back office. Run it with
//
//	go run ./examples/shop
//
// and open http://127.0.0.1:8080 in two windows. Beside it, on the same database,
//
//	go run ./examples/shop admin status
//
// and its like are the operators' commands.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/admin"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/web"
)

// config is what flags and environment say.
type config struct {
	addr      string
	db        string
	catalogue string
	payments  PaymentMode // "" is as the back office left it
	password  string      // the administrator's; "" makes one
	key       string      // from the environment only: flags are seen by every user of the machine
	admin     []string    // what follows the word admin: an operator's command in place of the shop
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg, err := configure(os.Args[1:], os.Getenv, os.Stderr)
	if err == nil && cfg.admin != nil {
		var code int
		if code, err = operate(ctx, cfg, os.Stdout, os.Stderr, log); err == nil {
			os.Exit(code)
		}
	} else if err == nil {
		err = run(ctx, cfg, os.Stdout, log)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// configure reads the flags; each has an environment variable of its name with SHOP_ that it wins over.
func configure(args []string, getenv func(string) string, usage io.Writer) (config, error) {
	var cfg config
	var payments string
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(usage)
	text := func(into *string, name, otherwise, help string) {
		env := "SHOP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if set := getenv(env); set != "" {
			otherwise = set
		}
		flags.StringVar(into, name, otherwise, help+" ($"+env+")")
	}
	text(&cfg.addr, "addr", "127.0.0.1:8080", "where to listen")
	text(&cfg.db, "db", "sqlite:shop.db", "where everything is kept: sqlite:PATH or sqlite::memory:")
	text(&cfg.catalogue, "catalogue", "", "a JSON file of products in place of our own")
	text(&payments, "payments", "", "how the payment service behaves: normal, slow, fail, twice or lost")
	text(&cfg.password, "admin-password", "", "the administrator's password; without one a new one is made and printed")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if flags.Arg(0) == "admin" {
		cfg.admin = append([]string{}, flags.Args()[1:]...)
	} else if flags.NArg() > 0 {
		return cfg, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	cfg.key = getenv("SHOP_KEY")
	if payments != "" {
		var err error
		if cfg.payments, err = parsePaymentMode(payments); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// run opens the shop, and closes it when ctx ends.
func run(ctx context.Context, cfg config, out io.Writer, log *slog.Logger) error {
	path, err := cfg.path()
	if err != nil {
		return err
	}
	catalogue, err := openCatalogue(cfg.catalogue)
	if err != nil {
		return err
	}
	ledger, err := openLedger(beside(path, ".payments"))
	if err != nil {
		return err
	}
	defer ledger.Close()
	gateway, err := openGateway(ledger, PaymentsNormal, log)
	if err != nil {
		return err
	}
	defer gateway.Close()

	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	rt, err := runtime.Open(ctx, db, wiring(catalogue, newPaymentClient(gateway.url, gateway.secret), log))
	if err != nil {
		return fmt.Errorf("open runtime: %w", err)
	}
	defer rt.Close()
	if err := seed(ctx, rt, catalogue); err != nil {
		return err
	}
	mode, err := choosePayments(ctx, rt, cfg.payments)
	if err != nil {
		return err
	}
	gateway.SetMode(mode)

	s, err := newSite(cfg, catalogue, rt, gateway, beside(path, ".key"), out, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.addr)
	if err != nil {
		return err
	}
	address := browserAddress(listener.Addr())
	gateway.NotifyAt(address + "/payments/notice")
	fmt.Fprintln(out, "listening on", address)
	return s.live.ServeListener(ctx, listener, s.routes())
}

// wiring is the actors' side of the shop.
func wiring(c *Catalogue, payments *PaymentClient, log *slog.Logger) runtime.Config {
	return runtime.Config{
		Types:   []actors.AnyType{Stocks, Carts, Orders, Offices},
		Effects: payments.Executors(),
		Policy:  policy(c),
		Logger:  log,
	}
}

// operate runs an operator's command on the shop's database, whether a shop is open on it or not, and returns its exit
// code. Whoever may run this program on that file is an operator; nothing that comes over the network is.
func operate(ctx context.Context, cfg config, out, problems io.Writer, log *slog.Logger) (code int, err error) {
	path, err := cfg.path()
	if err != nil {
		return 0, err
	}
	if path == ":memory:" {
		return 0, errors.New("a database in memory belongs to its process alone")
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("database %s: there is none; name it as for the shop: shop -db sqlite:PATH admin …, or $SHOP_DB", path)
	} else if err != nil {
		return 0, err
	}
	catalogue, err := openCatalogue(cfg.catalogue)
	if err != nil {
		return 0, err
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	rt, err := runtime.Open(ctx, db, wiring(catalogue, newPaymentClient("", ""), log)) // it does not run, so nobody is charged
	if err != nil {
		return 0, fmt.Errorf("open runtime: %w", err)
	}
	defer rt.Close()
	return admin.Command(operator.in(ctx), rt, cfg.admin, out, problems), nil
}

// path is the database's file.
func (c config) path() (string, error) {
	path, ok := strings.CutPrefix(c.db, "sqlite:")
	if !ok || path == "" {
		return "", fmt.Errorf("database %q: write it like sqlite:shop.db", c.db)
	}
	return path, nil
}

// newSite makes the web side.
func newSite(cfg config, c *Catalogue, rt *runtime.Runtime, g *Gateway, keyFile string, out io.Writer, log *slog.Logger) (*site, error) {
	secret, err := openSecret(cfg.key, keyFile)
	if err != nil {
		return nil, err
	}
	sessions, err := newSessions(secret)
	if err != nil {
		return nil, err
	}
	tokens, err := deriveKey(secret, "page tokens")
	if err != nil {
		return nil, err
	}
	if cfg.password == "" {
		cfg.password = rand.Text()
		fmt.Fprintln(out, "back office password:", cfg.password)
	}
	s := &site{catalogue: c, rt: rt, sessions: sessions, password: sha256.Sum256([]byte(cfg.password)), sign: g.Sign, log: log}
	s.live, err = web.New(rt, web.Config{Keys: [][]byte{tokens}, Identify: identify, RenderError: s.renderError, Logger: log})
	return s, err
}

// beside is a file next to the database; one in memory has none.
func beside(path, suffix string) string {
	if path == ":memory:" {
		return ""
	}
	return path + suffix
}

// browserAddress is a listener's address as a browser on this machine takes it.
func browserAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
