package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// order is what the measuring process asks a child for, as one line of JSON on its standard input.
type order struct {
	Do    string `json:"do"`
	Peer  string `json:"peer,omitempty"`
	Addr  string `json:"addr,omitempty"`
	Page  string `json:"page,omitempty"`
	Size  int    `json:"size,omitempty"`
	Count int    `json:"count,omitempty"`
}

// reply is a child's answer, as one line on its standard output.
type reply struct {
	Error string  `json:"error,omitempty"`
	Addr  string  `json:"addr,omitempty"`
	At    int64   `json:"at,omitempty"` // when it happened, in ns since 1970
	Ms    float64 `json:"ms,omitempty"`
	Heap  float64 `json:"heap,omitempty"` // bytes of heap and stacks
}

// obey answers orders until the measuring process is gone.
func obey(first reply, do func(order) reply) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(first); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var o order
		answer := reply{}
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			answer.Error = err.Error()
		} else {
			answer = do(o)
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return in.Err()
}

// child is a process of this program in another role.
type child struct {
	name string
	cmd  *exec.Cmd
	in   *json.Encoder
	out  *json.Decoder
	end  func() error
	addr string
}

// start starts one and waits until it is ready for orders.
func start(args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{name: strings.Join(args, " "), cmd: cmd, in: json.NewEncoder(in), out: json.NewDecoder(out), end: in.Close}
	ready, err := c.hear()
	if err != nil {
		c.stop()
		return nil, err
	}
	c.addr = ready.Addr
	return c, nil
}

// stop ends the process, by its own end of input, and waits for it.
func (c *child) stop() {
	c.end()
	c.cmd.Wait()
}

func (c *child) say(o order) error { return c.in.Encode(o) }

func (c *child) hear() (reply, error) {
	var r reply
	if err := c.out.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w", c.name, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s: %w", c.name, errors.New(r.Error))
	}
	return r, nil
}

func (c *child) ask(o order) (reply, error) {
	if err := c.say(o); err != nil {
		return reply{}, err
	}
	return c.hear()
}

// cpu is the CPU time that the process has used, in seconds, of which the kernel counts hundredths.
func (c *child) cpu() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // user and system time
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return float64(ticks) / 100, nil
}

// resident is the memory of the process in bytes.
func (c *child) resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages * os.Getpagesize()), err
}
