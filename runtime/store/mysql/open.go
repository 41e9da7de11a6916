package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// Config is how a store uses its database. The zero value is what its comments say.
type Config struct {
	// Prefix begins the name of every table: a lower-case letter, then lower-case letters, digits and underscores.
	// "lockstep_" if empty.
	Prefix string
	// Connections bounds the store's own pool; 8 if zero. New uses the application's pool as it is.
	Connections int
	// LockWait is how long a statement waits for a row of somebody else's, in whole seconds; 5 s if zero.
	LockWait time.Duration
	// WriteLimit bounds the commit actions of a turn together; 5 s if zero.
	WriteLimit time.Duration
	// Limit bounds each statement, and the wait for a connection where the caller's ctx does not; 15 s if zero. It must
	// be longer than LockWait.
	Limit time.Duration
	// Document is how large the largest document is that the runtime will store; 5 MiB, its default for states, if
	// zero. A server that could not take it is refused when the store opens.
	Document int
	// Logger hears of what weakens the server's promises; quiet when nil.
	Logger *slog.Logger
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// packetOverhead is what a statement needs of a packet beside its largest document.
const packetOverhead = 64 << 10

func (c Config) complete() (Config, error) {
	var problems []error
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if !prefixPattern.MatchString(c.Prefix) || len(c.Prefix) > 30 {
		problems = append(problems, fmt.Errorf("prefix %q: must be a-z, then at most 29 of a-z, 0-9 and _", c.Prefix))
	}
	if c.Connections == 0 {
		c.Connections = 8
	}
	if c.LockWait == 0 {
		c.LockWait = 5 * time.Second
	}
	if c.Limit == 0 {
		c.Limit = 15 * time.Second
	}
	if c.WriteLimit == 0 {
		c.WriteLimit = 5 * time.Second
	}
	if c.Document == 0 {
		c.Document = 5 << 20
	}
	if c.Connections < 0 || c.Document < 0 {
		problems = append(problems, fmt.Errorf("%d connections, documents of %d bytes: must be positive", c.Connections, c.Document))
	}
	if c.WriteLimit < 0 {
		problems = append(problems, fmt.Errorf("a WriteLimit of %v is negative", c.WriteLimit))
	}
	if c.LockWait < time.Second || c.Limit <= c.LockWait {
		problems = append(problems, fmt.Errorf("LockWait (%v) must be a second or more, and Limit (%v) longer", c.LockWait, c.Limit))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, errors.Join(problems...)
}

// Store is a database as a runtime uses it. It is safe for concurrent use.
type Store struct {
	cfg   Config
	db    *sql.DB
	own   bool // the pool is the store's, with sessions set up when they connect
	texts texts

	installation string // what the schema was named at random when it was installed
	packet       int    // the server's max_allowed_packet
	warnings     []error

	flushing   chan struct{} // held by the one flush that is in the database
	stubborn   atomic.Int64  // Unix nanoseconds until when rows of others are not waited for
	closed     atomic.Bool
	closing    sync.Once
	offset     atomic.Int64 // microseconds
	statements atomic.Int64
	commits    atomic.Int64
}

var _ store.Store = (*Store)(nil)

// Open opens the database of a DSN of go-sql-driver/mysql, "user:password@tcp(host:3306)/database", with connections of
// the store's own, and installs its tables there if need be. Whatever the DSN says about character sets, SQL modes,
// isolation and the like is overridden; one that is not of that form is a *store.InvalidDSN. At most one Config is used.
// The caller closes the store.
func Open(ctx context.Context, dsn string, cfg ...Config) (*Store, error) {
	if len(cfg) > 1 {
		return nil, errors.New("open MySQL: more than one Config")
	}
	var c Config
	if len(cfg) == 1 {
		c = cfg[0]
	}
	s, err := newStore(c)
	if err != nil {
		return nil, err
	}
	connector, err := s.connector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open MySQL: %w", err)
	}
	s.own, s.db = true, sql.OpenDB(connector)
	s.db.SetMaxOpenConns(s.cfg.Connections)
	s.db.SetMaxIdleConns(s.cfg.Connections)
	s.db.SetConnMaxIdleTime(10 * time.Minute)
	s.db.SetConnMaxLifetime(time.Hour)
	if err := s.prepare(ctx); err != nil {
		s.db.Close()
		return nil, err
	}
	return s, nil
}

// New opens a store on the pool that an application already has, which stays the application's: each verb borrows one
// connection, sets its session up and gives it back as it was. A pool of one is enough. With interpolateParams=true in
// the pool's DSN every statement costs one round trip instead of two. The caller closes the store, and after it the
// pool.
func New(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newStore(cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("open MySQL: %w", err)
	}
	return &Store{cfg: cfg, texts: texts{prefix: cfg.Prefix}, packet: 1 << 20, flushing: make(chan struct{}, 1)}, nil
}

// connector makes the store's own connections.
func (s *Store) connector(dsn string) (driver.Connector, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, &store.InvalidDSN{Dialect: "mysql", Reason: `it must be like "user:password@tcp(host:3306)/database?parameter=value"`}
	}
	if c.DBName == "" {
		return nil, &store.InvalidDSN{Dialect: "mysql", Reason: "it names no database"}
	}
	c.Params = nil // session variables are set below, last
	c.InterpolateParams = true
	c.ClientFoundRows, c.MultiStatements, c.ColumnsWithAlias, c.ParseTime, c.RejectReadOnly = false, false, false, false, false
	c.CheckConnLiveness = true
	c.MaxAllowedPacket = 0 // the server's
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	c.Logger = &mysql.NopLogger{}
	if err := c.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, &store.InvalidDSN{Dialect: "mysql", Reason: "the driver does not take its parameters"}
	}
	return connector{inner, s}, nil
}

// connector sets up each session as it connects.
type connector struct {
	driver.Connector
	store *Store
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	dc, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	ex, ok := dc.(driver.ExecerContext)
	if !ok {
		dc.Close()
		return nil, fmt.Errorf("the MySQL driver %T cannot execute directly", dc)
	}
	wait := driver.NamedValue{Ordinal: 1, Value: c.store.lockWait()}
	_, err = ex.ExecContext(ctx, c.store.texts.text(sessionSettings), []driver.NamedValue{wait})
	if err == nil {
		_, err = ex.ExecContext(ctx, c.store.texts.text(isolationSession), nil)
	}
	if err != nil {
		dc.Close()
		return nil, fmt.Errorf("set up the session: %w", err)
	}
	return dc, nil
}

func (s *Store) lockWait() int64 { return int64(s.cfg.LockWait / time.Second) }

// prepare looks at the server and installs the schema.
func (s *Store) prepare(ctx context.Context) error {
	err := s.attempts(ctx, func() error { return s.with(ctx, func(q *session) error { return s.inspect(q) }) })
	if err == nil {
		err = s.migrate(ctx)
	}
	return translate("open MySQL", err)
}

// inspect refuses a server that cannot keep the store's promises and notes what weakens them.
func (s *Store) inspect(q *session) error {
	r, _, err := q.first(serverRead)
	if err != nil {
		return err
	}
	if version := r.text(0); !supported(version) {
		return &UnsupportedServer{version}
	}
	if r.null(5) {
		return errors.New("the connection has no database")
	}
	s.packet = int(r.int(1))
	if s.packet < s.cfg.Document+packetOverhead {
		return &PacketLimit{s.packet, s.cfg.Document}
	}
	s.warnings = weaknesses(r)
	for _, w := range s.warnings {
		s.cfg.Logger.Warn("the server promises less than the store", "error", w)
	}
	return nil
}

// weaknesses are what a server's row says of commits that a crash may lose.
func weaknesses(r row) (list []error) {
	if n := int(r.int(2)); n != 1 {
		list = append(list, &WeakDurability{"innodb_flush_log_at_trx_commit", n})
	}
	if n := int(r.int(4)); r.int(3) != 0 && n != 1 {
		list = append(list, &WeakDurability{"sync_binlog", n})
	}
	return list
}

var versionPattern = regexp.MustCompile(`^(?:5\.5\.5-)?(\d+)\.(\d+)\.`)

// supported judges by VERSION(): "8.0.36", "10.11.6-MariaDB-log".
func supported(version string) bool {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if strings.Contains(version, "MariaDB") {
		return major > 10 || major == 10 && minor >= 6
	}
	return major >= 8
}

// Close lets go of the store's own connections; the application's pool stays open. Verbs that are under way fail or
// finish; later ones fail. A second Close does nothing.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.closed.Store(true)
		if s.own {
			err = s.db.Close()
		}
	})
	return err
}

// Dialect is "mysql".
func (s *Store) Dialect() string { return "mysql" }

// Now is the server's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return read(ctx, s, "read the clock", func(q *session) (time.Time, error) {
		r, _, err := q.first(clockRead)
		if err != nil {
			return time.Time{}, err
		}
		return fromMicros(r.int(0) + s.offset.Load()), nil
	})
}

// Changes is -1: the server cannot say cheaply.
func (s *Store) Changes(context.Context) (int64, error) { return -1, nil }

// Offset moves the server's clock as this store sees it: tests only.
func (s *Store) Offset(d time.Duration) { s.offset.Store(int64(d / time.Microsecond)) }

// Stats counts what went to the database since it was opened; those that begin and end transactions are statements too.
func (s *Store) Stats() store.Stats {
	return store.Stats{Statements: s.statements.Load(), Commits: s.commits.Load()}
}
