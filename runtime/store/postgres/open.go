package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Config is how a store uses its database. The zero value is what its comments say.
type Config struct {
	// Schema holds the tables, and is made if it is not there. If empty, it is the connection's current schema, which
	// is public unless the role or the DSN says otherwise.
	Schema string
	// Prefix begins the name of every table: a lower-case letter, then lower-case letters, digits and underscores.
	// "lockstep_" if empty.
	Prefix string
	// Limit bounds the wait for a connection of the pool, and then a transaction of the store; 15 s each if zero.
	Limit time.Duration
	// WriteLimit bounds the commit actions of a turn together; 5 s if zero, or half of Limit where that is less. It
	// must be shorter than Limit.
	WriteLimit time.Duration
	// KeepsStatements says that a proxy before the server keeps prepared statements, so that pgx may cache them:
	// PgBouncer does in session mode, and from 1.21 on with max_prepared_statements.
	KeepsStatements bool
	// NoNotify turns wake-ups by LISTEN and NOTIFY off; polling carries everything then.
	NoNotify bool
	// Logger hears warnings; none if nil.
	Logger *slog.Logger
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c Config) complete() (Config, error) {
	var problems []error
	if c.Prefix == "" {
		c.Prefix = namePrefix
	}
	if !prefixPattern.MatchString(c.Prefix) || len(c.Prefix) > 32 {
		problems = append(problems, fmt.Errorf("prefix %q: must be a-z, then at most 31 of a-z, 0-9 and _", c.Prefix))
	}
	if c.Limit < 0 {
		problems = append(problems, fmt.Errorf("a limit of %v is negative", c.Limit))
	}
	if len(c.Schema) > 63 {
		problems = append(problems, fmt.Errorf("schema of %d bytes: PostgreSQL has 63 for a name", len(c.Schema)))
	}
	if c.Limit == 0 {
		c.Limit = 15 * time.Second
	}
	if c.WriteLimit == 0 {
		c.WriteLimit = min(5*time.Second, c.Limit/2)
	}
	if c.WriteLimit < 0 || c.Limit > 0 && c.WriteLimit >= c.Limit {
		problems = append(problems, fmt.Errorf("WriteLimit (%v) must be positive, and shorter than Limit (%v)", c.WriteLimit, c.Limit))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, errors.Join(problems...)
}

// Store is a database as a runtime uses it. It is safe for concurrent use.
type Store struct {
	cfg   Config
	pool  *pgxpool.Pool
	own   bool // the pool is the store's, to be closed with it
	texts []string
	// guestTexts are the same for transactions of the application: as statements of their own, since a plan made under
	// the application's settings must not be met under ours.
	guestTexts []string

	database string // what its schema was named at random when it was installed
	proxied  bool   // there is a proxy before the server
	warnings []error

	closed     atomic.Bool
	offset     atomic.Int64 // microseconds
	statements atomic.Int64
	commits    atomic.Int64
	flushes    atomic.Int64 // under way
	grudge     atomic.Int64 // until when, in nanoseconds, no flush waits for busy instances

	gatherer *bus.Gatherer
	reserve  reserve
	memory   memory
}

var _ store.Store = (*Store)(nil)

// Open opens the database of a DSN, as pgxpool.ParseConfig reads it (or the error is a *store.InvalidDSN), and installs
// or completes the schema. At most one Config is used. The caller closes the store.
func Open(ctx context.Context, dsn string, cfg ...Config) (*Store, error) {
	if len(cfg) > 1 {
		return nil, errors.New("open PostgreSQL: more than one Config")
	}
	var c Config
	if len(cfg) == 1 {
		c = cfg[0]
	}
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", &store.InvalidDSN{Dialect: "postgres", Reason: unreadable(err)})
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	s, err := New(ctx, pool, c)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// unreadable says why pgx does not read a DSN, in no words of that DSN.
func unreadable(err error) string {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return "a file that it names cannot be read: " + file.Err.Error()
	}
	return "it is neither a URL nor keywords and values that pgxpool.ParseConfig reads; in a URL, characters such as : / ? # @ % of a user or password are written as %XX"
}

// New opens a store on the pool of an application. The pool keeps its settings, in whichever execution mode of pgx, and
// stays open when the store is closed. While the application has all of its connections in use, the store writes over
// one of its own, made then, so that handlers which wait for the pool do not cost leases. The error is a *Pooler where the pool's mode cannot work with a proxy before the
// server, a *ServerTooOld below 14, a *ForeignSchema where something else has the tables, and wraps
// store.ErrSchemaTooNew for those of a newer build. The caller closes the store, and after it the pool.
func New(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	s := &Store{cfg: cfg, pool: pool}
	s.gatherer = bus.NewGatherer(cfg.Logger, s.notify)
	if err := s.examine(ctx); err != nil {
		return nil, translate("open PostgreSQL", err)
	}
	s.texts = place(s.cfg.Schema, s.cfg.Prefix)
	for _, text := range s.texts {
		s.guestTexts = append(s.guestTexts, text+"-- in a transaction of the application\n")
	}
	if err := s.migrate(ctx); err != nil {
		return nil, translate("install the schema", err)
	}
	for _, w := range s.warnings {
		s.cfg.Logger.Warn("the database is weaker than it should be", "warning", w)
	}
	return s, nil
}

const examination = `SELECT current_setting('server_version_num'), coalesce(current_schema(), ''), pg_backend_pid(),
	current_setting('synchronous_commit'), current_setting('fsync')`

// examine asks the server what it is.
func (s *Store) examine(ctx context.Context) error {
	return s.with(ctx, false, func(ctx context.Context, c *pgxpool.Conn) error {
		mode := c.Conn().Config().DefaultQueryExecMode
		var number, schema, commit, fsync string
		var pid uint32
		// This one statement is not prepared: it has to work before the mode is known to.
		err := c.QueryRow(ctx, examination, pgx.QueryExecModeExec).Scan(&number, &schema, &pid, &commit, &fsync)
		if err != nil {
			return err
		}
		if version, _ := strconv.Atoi(number); version < 140000 {
			return &ServerTooOld{version}
		}
		if s.cfg.Schema == "" {
			s.cfg.Schema = schema
		}
		if s.cfg.Schema == "" {
			return errors.New("the connection has no current schema: set Config.Schema")
		}
		s.proxied = pid != c.Conn().PgConn().PID()
		if s.proxied && mode == pgx.QueryExecModeCacheStatement && !s.cfg.KeepsStatements {
			return &Pooler{mode.String()}
		}
		for name, value := range map[string]string{"synchronous_commit": commit, "fsync": fsync} {
			if value == "off" {
				s.warnings = append(s.warnings, &WeakCommit{name, value})
			}
		}
		return nil
	})
}

// Close waits for hints that are on their way and closes the pool, if Open made it. Later verbs fail. A second Close does
// nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.gatherer.Close()
	s.reserve.close()
	if s.own {
		s.pool.Close()
	}
	return nil
}

// Dialect is "postgres".
func (s *Store) Dialect() string { return "postgres" }

// Now is the database's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := s.read(ctx, "read the clock", func(p *pipe) { p.clock(&now) })
	return fromMicros(now), err
}

// Offset moves the clock as this store sees it: tests only.
func (s *Store) Offset(d time.Duration) {
	if by := d.Microseconds(); s.offset.Swap(by) != by {
		s.memory.unread()
	}
}

// Stats counts what went to the database since it was opened; BEGIN and COMMIT are statements too.
func (s *Store) Stats() store.Stats {
	return store.Stats{Statements: s.statements.Load(), Commits: s.commits.Load()}
}

// Changes is -1: others are heard of by Listen.
func (s *Store) Changes(context.Context) (int64, error) { return -1, nil }
