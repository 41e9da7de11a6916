package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// The test binary is also the other process of tests that need one: with childVar set it runs a role instead.
const (
	childVar = "LOCKSTEP_SQLITE_CHILD"
	pathVar  = "LOCKSTEP_SQLITE_PATH"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		if err := roles[role](os.Getenv(pathVar)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is another process. It prints what it has to say, a line at a time, and ends with its input.
type child struct {
	*exec.Cmd
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func spawn(t *testing.T, role, path string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+role, pathVar+"="+path)
	cmd.Stderr = os.Stderr
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
	c := &child{cmd, t, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return c
}

// line waits for what the child says next.
func (c *child) line() string {
	c.t.Helper()
	text, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the child ended: %q %v", text, err)
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "error:") {
		c.t.Fatal(text)
	}
	return text
}

// end closes the child's input and waits for its own end.
func (c *child) end() {
	c.t.Helper()
	c.in.Close()
	if err := c.Wait(); err != nil {
		c.t.Fatal(err)
	}
}

var roles = map[string]func(path string) error{
	// own registers a process "child" and claims an actor, then waits for its end.
	"own": func(path string) error {
		ctx := context.Background()
		s, err := sqlite.Open(ctx, path)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := s.Register(ctx, store.Process{ID: "child", Kind: "worker", PID: os.Getpid()}); err != nil {
			return err
		}
		e := message("owned")
		e.Claim = &store.Claim{Owner: "child", Token: "t", Lease: time.Hour}
		if err := s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{e}}); err != nil {
			return err
		}
		fmt.Println(e.Message.ID)
		io.Copy(io.Discard, os.Stdin)
		return nil
	},
	// open opens an empty database when it is told, beside others.
	"open": func(path string) error {
		fmt.Println("here")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
		s, err := sqlite.Open(context.Background(), path)
		if err != nil {
			return err
		}
		defer s.Close()
		fmt.Println("open")
		io.Copy(io.Discard, os.Stdin)
		return nil
	},
	// tell enqueues 200 messages to one actor, one flush each, when it is told.
	"tell": func(path string) error {
		ctx := context.Background()
		s, err := sqlite.Open(ctx, path, sqlite.Config{Synchronous: sqlite.UnsafeNormal})
		if err != nil {
			return err
		}
		defer s.Close()
		fmt.Println("here")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
		for range 200 {
			if err := s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{message("shared")}}); err != nil {
				return err
			}
		}
		fmt.Println("done")
		return nil
	},
	// hold keeps the write lock, until its input ends.
	"hold": func(path string) error {
		ctx := context.Background()
		db, err := open(path, "")
		if err != nil {
			return err
		}
		defer db.Close()
		if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		_, err = db.ExecContext(ctx, "ROLLBACK")
		return err
	},
}

func message(actor string) *store.Enqueue {
	return &store.Enqueue{Message: store.Message{
		ID: newID(), Type: "cart", ActorID: actor, Operation: "add", Arguments: json.RawMessage("1"),
		Origin: store.FromClient, MaxAttempts: 3,
	}}
}
