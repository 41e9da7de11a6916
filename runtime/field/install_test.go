package field

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// roleVar, if set, makes the test binary another process: "role database address".
const roleVar = "LOCKSTEP_FIELD_ROLE"

// roles are what such a process does. It prints what it has to say, a line at a time.
var roles = map[string]func(d *database, address string) error{"install": installs, "retry": retries, "die": dies}

func TestMain(m *testing.M) {
	words := strings.SplitN(os.Getenv(roleVar), " ", 3)
	if len(words) < 3 {
		os.Exit(m.Run())
	}
	if err := roles[words[0]](find(words[1]), words[2]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// installs opens a database when it is told to, and uses it.
func installs(d *database, address string) error {
	fmt.Println("here")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := d.open(ctx, address)
	if err != nil {
		return err
	}
	defer s.Close()
	e := &store.Enqueue{Message: store.Message{
		ID: uuid.Must(uuid.NewV7()).String(), Type: "order", ActorID: "a", Operation: "add", Arguments: json.RawMessage(`"x"`), Origin: store.FromClient, MaxAttempts: 1,
	}}
	for e.Outcome != store.Done && e.Outcome != store.Duplicate {
		if err := s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{e}}); err != nil && !errors.Is(err, store.ErrTransient) {
			return err
		}
	}
	fmt.Println("done")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// child is such a process.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// process starts one that ends with the test.
func (b *base) process(t *testing.T, role string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role+" "+b.name+" "+b.address)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{cmd, in, bufio.NewReader(out)}
}

func (c *child) says() string {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return "ended: " + err.Error()
	}
	return strings.TrimSpace(line)
}

// TestD40EightProcessesInstall: eight processes open an empty database at once, and one is killed on the way, anywhere.
// One installs, the others wait for it, or for the dead one's hold to lapse, and all go on.
func TestD40EightProcessesInstall(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			for round := range size(t, "rounds", 3, 20) {
				b := newBase(t, d)
				var processes []*child
				for range 8 {
					processes = append(processes, b.process(t, "install"))
				}
				for _, p := range processes {
					if got := p.says(); got != "here" {
						t.Fatal(got)
					}
				}
				begun := time.Now()
				for _, p := range processes {
					fmt.Fprintln(p.in, "go")
				}
				after := time.Duration(rand.IntN(60)) * time.Millisecond
				time.Sleep(after)
				if err := processes[round%8].Process.Kill(); err != nil {
					t.Fatal(err)
				}
				for i, p := range processes {
					if got := p.says(); got != "done" && i != round%8 {
						t.Fatalf("round %d, one killed after %v: process %d says %q", round, after, i, got)
					}
				}
				if took := time.Since(begun); took > 40*time.Second {
					t.Errorf("round %d took %v", round, took)
				}
				versions := b.number(t, "SELECT count(*) FROM lockstep_schema_migrations WHERE version > 0")
				if highest := b.number(t, "SELECT max(version) FROM lockstep_schema_migrations"); versions != highest || versions == 0 {
					t.Errorf("%d versions are recorded up to %d", versions, highest)
				}
				if n := b.number(t, "SELECT next_sequence FROM lockstep_instances"); n != 8 && n != 9 {
					t.Errorf("the next sequence after 7 or 8 messages is %d", n)
				}
			}
		})
	}
}

// TestD40OlderBuildIsRefused: a build that is older than the schema is refused in words, before it registers, and
// changes nothing.
func TestD40OlderBuildIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		start(t, b, hurried([]actors.AnyType{defineOrders()}, defineOrders().ship.By(func(context.Context, actors.EffectCall[string]) (string, error) { return "", nil }))).end(t)
		before := catalogue(t, b)
		b.exec(t, "UPDATE lockstep_schema_migrations SET version = 99 WHERE version = (SELECT v FROM (SELECT max(version) AS v FROM lockstep_schema_migrations) AS newest)")
		s, err := b.open(t.Context(), b.address)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, store.ErrSchemaTooNew) || !strings.Contains(err.Error(), "99") {
			t.Errorf("an older build: %v", err)
		}
		if after := catalogue(t, b); after != before {
			t.Errorf("it changed the schema:\n%s", difference(after, before))
		}
	})
}
