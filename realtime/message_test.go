package realtime

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"testing"
)

// What was read ahead is a message once all of it is there, and what follows stays.
func TestMessageIsTakenWhole(t *testing.T) {
	for _, size := range []int{0, 1, 125, 126, 1000} {
		payload := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		frame := []byte{0x81, 0x80 | byte(size)}
		if size > 125 {
			frame = binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(size))
		}
		mask := []byte{1, 2, 4, 8}
		frame = append(frame, mask...)
		for i, b := range payload {
			frame = append(frame, b^mask[i%4])
		}
		buf := append(bytes.Clone(frame), "rest"...) // a buffer's older bytes stand behind what was read
		for n := range len(frame) {
			l := &link{in: bufio.NewReaderSize(nil, 16), ahead: buf[:n]}
			if text, ok := l.message(); ok || len(l.ahead) != n {
				t.Errorf("%d bytes of a frame of %d were taken for %q", n, len(frame), text)
			}
		}
		l := &link{in: bufio.NewReaderSize(nil, 16), ahead: buf}
		if text, ok := l.message(); !ok || !bytes.Equal(text, payload) || string(l.ahead) != "rest" {
			t.Errorf("a message of %d bytes was read as %q, %v; %q stays", size, text, ok, l.ahead)
		}
		for name, spoil := range map[string]func(b []byte){
			"binary": func(b []byte) { b[0] = 0x82 }, "begun": func(b []byte) { b[0] = 0x01 }, "compressed": func(b []byte) { b[0] |= 0x40 },
			"unmasked": func(b []byte) { b[1] &= 0x7f }, "ping": func(b []byte) { b[0] = 0x89 },
		} {
			other := bytes.Clone(buf)
			spoil(other)
			l := &link{in: bufio.NewReaderSize(nil, 16), ahead: other}
			if text, ok := l.message(); ok {
				t.Errorf("a frame that is %s was taken for %q", name, text)
			}
		}
	}
}
