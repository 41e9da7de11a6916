package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// Synchronous says what a commit waits for.
type Synchronous string

const (
	// Full makes every commit wait until it is on the disk: what was acknowledged survives a power cut.
	Full Synchronous = "FULL"
	// UnsafeNormal does not wait: a power cut or a crash of the machine loses the last commits, though acknowledged; a
	// crash of the process does not. The file stays consistent.
	UnsafeNormal Synchronous = "NORMAL"
)

// Config is how a store uses its database. The zero value is what its comments say.
type Config struct {
	// Prefix begins the name of every table: a lower-case letter, then lower-case letters, digits and underscores.
	// "lockstep_" if empty.
	Prefix string
	// Synchronous is Full if empty.
	Synchronous Synchronous
	// BusyTimeout is how long a transaction waits for one of another process; 5 s if zero.
	BusyTimeout time.Duration
	// WriteLimit bounds a transaction of Write, and the commit actions of a turn together; 2 s if zero.
	WriteLimit time.Duration
	// Readers is how many connections read beside the writer; 4 if zero. In memory there are none.
	Readers int
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c Config) complete() (Config, error) {
	var problems []error
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if !prefixPattern.MatchString(c.Prefix) || len(c.Prefix) > 40 {
		problems = append(problems, fmt.Errorf("prefix %q: must be a-z, then at most 39 of a-z, 0-9 and _", c.Prefix))
	}
	if strings.HasPrefix(c.Prefix, "sqlite_") {
		problems = append(problems, fmt.Errorf("prefix %q: SQLite keeps sqlite_ for itself", c.Prefix))
	}
	if c.Synchronous == "" {
		c.Synchronous = Full
	}
	if c.Synchronous != Full && c.Synchronous != UnsafeNormal {
		problems = append(problems, fmt.Errorf("synchronous %q: must be Full or UnsafeNormal", c.Synchronous))
	}
	for _, d := range []*time.Duration{&c.BusyTimeout, &c.WriteLimit} {
		if *d < 0 {
			problems = append(problems, fmt.Errorf("a duration of %v is negative", *d))
		}
	}
	if c.BusyTimeout == 0 {
		c.BusyTimeout = 5 * time.Second
	}
	if c.WriteLimit == 0 {
		c.WriteLimit = 2 * time.Second
	}
	if c.Readers < 0 {
		problems = append(problems, fmt.Errorf("%d readers", c.Readers))
	}
	if c.Readers == 0 {
		c.Readers = 4
	}
	return c, errors.Join(problems...)
}

// Store is a database as a runtime uses it. It is safe for concurrent use.
type Store struct {
	cfg   Config
	texts []string
	path  string // of the file; "" in memory

	database string // what its schema was named at random when it was installed

	closed  chan struct{}
	closing sync.Once
	turn    chan struct{} // held by whoever uses the writer
	writer  *conn
	facade  *sql.DB    // the writer as Write lends it
	readers chan *conn // idle ones, and a nil for each that was not opened yet; none in memory
	shared  *sql.DB    // the application's pool of one, for its in-memory database
	reads   reads      // under way on readers

	offset     atomic.Int64 // microseconds
	statements atomic.Int64
	commits    atomic.Int64

	locksMu sync.Mutex
	locks   map[string]processLock
}

var _ store.Store = (*Store)(nil)

// Open opens, and creates if need be, the database at path: "shop.db", "sqlite:shop.db" or ":memory:". At most one
// Config is used. In the form with "sqlite:" options may follow, as in "sqlite:shop.db?synchronous=unsafe_normal" and
// "…?prefix=shop_"; they win over the Config. Any number of processes on one host may open the same file.
// The caller closes the store.
func Open(ctx context.Context, path string, cfg ...Config) (*Store, error) {
	if len(cfg) > 1 {
		return nil, errors.New("open SQLite: more than one Config")
	}
	var c Config
	if len(cfg) == 1 {
		c = cfg[0]
	}
	path, err := options(path, &c)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return open(ctx, path, c)
}

// options splits what follows "sqlite:".
func options(path string, c *Config) (string, error) {
	rest, ok := strings.CutPrefix(path, "sqlite:")
	if !ok {
		return path, nil
	}
	rest, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", &store.InvalidDSN{Dialect: "sqlite", Reason: "its options are not those of a URL"}
	}
	for name, v := range values {
		switch {
		case name == "prefix" && len(v) == 1:
			c.Prefix = v[0]
		case name == "synchronous" && len(v) == 1 && v[0] == "full":
			c.Synchronous = Full
		case name == "synchronous" && len(v) == 1 && v[0] == "unsafe_normal":
			c.Synchronous = UnsafeNormal
		default:
			return "", &store.InvalidDSN{Dialect: "sqlite", Reason: "known options are prefix, and synchronous of full or unsafe_normal, each once"}
		}
	}
	return rest, nil
}

// New opens a store on the database that an application already has open. A file is found by PRAGMA database_list and
// opened anew with the store's own connections, so that the pool and its settings stay as they are. A database in
// memory cannot be opened twice: its pool must have SetMaxOpenConns(1), which both then share, or the error is a
// *MemoryPool. The caller closes the store, and after it the pool.
func New(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	path, err := mainFile(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	if path != "" {
		return open(ctx, path, cfg)
	}
	if n := db.Stats().MaxOpenConnections; n != 1 {
		return nil, &MemoryPool{n}
	}
	s, err := newStore("", cfg)
	if err != nil {
		return nil, err
	}
	s.shared = db
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// mainFile is the path of the main database, "" in memory.
func mainFile(ctx context.Context, q querier) (string, error) {
	rows, err := q.QueryContext(ctx, "PRAGMA database_list")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int
		var name, file string
		if err := rows.Scan(&seq, &name, &file); err != nil {
			return "", err
		}
		if name == "main" {
			return file, nil
		}
	}
	return "", errors.Join(rows.Err(), errors.New("no main database"))
}

func newStore(path string, cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return &Store{
		cfg: cfg, path: path, texts: withPrefix(cfg.Prefix),
		closed: make(chan struct{}), turn: make(chan struct{}, 1), locks: map[string]processLock{},
	}, nil
}

func open(ctx context.Context, path string, cfg Config) (_ *Store, err error) {
	memory := path == ":memory:"
	if path == "" {
		return nil, fmt.Errorf("open SQLite: %w", &store.InvalidDSN{Dialect: "sqlite", Reason: "it has no path"})
	}
	if !memory {
		if path, err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("open SQLite: %w", err)
		}
	}
	s, err := newStore(path, cfg)
	if err != nil {
		return nil, err
	}
	if memory {
		s.path = ""
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.writer, err = s.connect(ctx, false); err != nil {
		return nil, translate("open "+path, err)
	}
	if s.path != "" {
		// SQLite's own name of the file, with links resolved, is what every process agrees on.
		name, err := s.writer.ask(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'")
		if err != nil {
			return nil, translate("open "+path, err)
		}
		if file, ok := name.(string); ok && file != "" {
			s.path = file
		}
		s.readers = make(chan *conn, s.cfg.Readers)
		for range s.cfg.Readers {
			s.readers <- nil
		}
	}
	s.facade = newFacade(s.writer)
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// connect opens one connection with every pragma set: on a connection of its own, they hold for nobody else.
func (s *Store) connect(ctx context.Context, reader bool) (*conn, error) {
	name := ":memory:"
	if s.path != "" {
		path := filepath.ToSlash(s.path)
		if !strings.HasPrefix(path, "/") {
			path = "/" + path // a drive letter
		}
		name = (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String()
	}
	connector, err := modernc.NewConnector(name)
	if err != nil {
		return nil, err
	}
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn(dc, s.texts, &s.statements)
	if err := s.configure(ctx, c, reader); err != nil {
		dc.Close()
		return nil, err
	}
	return c, nil
}

func (s *Store) configure(ctx context.Context, c *conn, reader bool) error {
	pragmas := []string{
		fmt.Sprintf("busy_timeout = %d", s.cfg.BusyTimeout.Milliseconds()),
		fmt.Sprintf("synchronous = %s", s.cfg.Synchronous),
		"wal_autocheckpoint = 4000",
		"journal_size_limit = 67108864", // a WAL that once grew is cut back
		"foreign_keys = OFF",
		"temp_store = MEMORY",
		"cache_size = -16384",
		"recursive_triggers = OFF",
	}
	for _, p := range pragmas {
		if err := c.run(ctx, "PRAGMA "+p); err != nil {
			return fmt.Errorf("pragma %s: %w", p, err)
		}
	}
	if s.path != "" {
		if err := journal(ctx, c, s.cfg.BusyTimeout); err != nil {
			return err
		}
	}
	if reader {
		return c.run(ctx, "PRAGMA query_only = ON")
	}
	return nil
}

// journal turns the write-ahead log on. Turning it on needs the file for itself, and SQLite does not wait for that
// with the busy timeout: several processes may open a new file at once.
func journal(ctx context.Context, c *conn, patience time.Duration) error {
	end := time.Now().Add(patience)
	for {
		mode, err := c.ask(ctx, "PRAGMA journal_mode = WAL")
		if err == nil && mode != "wal" {
			return fmt.Errorf("the database cannot have a write-ahead log, its journal mode is %v", mode)
		}
		if err == nil || !transient(code(err)) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Close releases the connections and the locks of this store's processes, whose work others recover then. It waits
// for verbs that are under way; later ones fail. The application's own pool stays open. A second Close does nothing.
func (s *Store) Close() (err error) {
	s.closing.Do(func() { err = s.close() })
	return err
}

func (s *Store) close() error {
	close(s.closed)
	var problems []error
	for range cap(s.readers) {
		if c := <-s.readers; c != nil {
			c.close()
			problems = append(problems, c.dc.Close())
		}
	}
	if s.shared != nil {
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.BusyTimeout)
		defer cancel()
		s.withShared(ctx, func(c *conn) error { c.close(); return nil }) // a pool that is closed has let go of them
	} else {
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
		if s.facade != nil {
			s.facade.Close() // closes nothing: the connection was only lent
		}
		if s.writer != nil {
			s.writer.close()
			problems = append(problems, s.writer.dc.Close())
		}
	}
	s.locksMu.Lock()
	defer s.locksMu.Unlock()
	for id, l := range s.locks {
		problems = append(problems, l.release(false))
		delete(s.locks, id)
	}
	return errors.Join(problems...)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// read runs f with a connection that only reads. In memory that is the writer's.
func (s *Store) read(ctx context.Context, doing string, f func(session) error) error {
	if s.path == "" {
		return translate(doing, s.withWriter(ctx, func(c *conn) error { return f(c) }))
	}
	if s.isClosed() {
		return fmt.Errorf("%s: %w", doing, errClosed)
	}
	select {
	case <-s.closed:
		return fmt.Errorf("%s: %w", doing, errClosed)
	case c := <-s.readers:
		var err error
		if c == nil {
			if c, err = s.connect(ctx, true); err != nil {
				s.readers <- nil
				return translate(doing, err)
			}
		}
		s.reads.begin(c)
		defer func() {
			s.reads.end(c)
			s.readers <- c
		}()
		return translate(doing, f(c))
	case <-ctx.Done():
		return fmt.Errorf("%s: wait for a reader: %w", doing, ctx.Err())
	}
}

// Dialect is "sqlite".
func (s *Store) Dialect() string { return "sqlite" }

// now is the database's clock: SQLite runs in this process, so it is the host's.
func (s *Store) now() int64 { return time.Now().UnixMicro() + s.offset.Load() }

// Now is the database's clock.
func (s *Store) Now(context.Context) (time.Time, error) { return fromMicros(s.now()), nil }

// Offset moves the clock as this store sees it: tests only.
func (s *Store) Offset(d time.Duration) { s.offset.Store(int64(d / time.Microsecond)) }

// Stats counts what went to the database since it was opened; BEGIN and COMMIT are statements too.
func (s *Store) Stats() store.Stats {
	return store.Stats{Statements: s.statements.Load(), Commits: s.commits.Load()}
}

// Changes is a number that differs after another connection than the writer committed.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.withWriter(ctx, func(c *conn) error {
		r, _, err := c.first(dataVersion)
		if err == nil {
			n = r.int(0)
		}
		return err
	})
	return n, translate("read the data version", err)
}

var _ driver.Connector = lent{}
