package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// packet is what travels: hints of one publisher.
type packet struct {
	From  string            `json:"f"`
	Hints []json.RawMessage `json:"h"`
}

// pack encodes as many hints, from the first on, as one packet holds, and says how many. One that no packet holds goes
// as a Missed.
func pack(from string, hints []Hint) (encoded []byte, n int) {
	p := packet{From: from}
	size := len(encode(p)) + 1
	for ; n < len(hints); n++ {
		h := hints[n]
		if !h.known() {
			h = Hint{Kind: Missed}
		}
		one := encode(h)
		if size += len(one) + 1; size > MaxPacket && n > 0 {
			break
		}
		p.Hints = append(p.Hints, one)
	}
	return encode(p), n
}

// encode is JSON without the escapes that only HTML needs.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode a hint: %v", err)) // they are strings and numbers
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Unpack reads a packet. Hints that this build does not know are left out.
func Unpack(encoded []byte) (from string, hints []Hint, err error) {
	if len(encoded) > MaxPacket {
		return "", nil, fmt.Errorf("a packet of %d bytes, limit %d", len(encoded), MaxPacket)
	}
	var p packet
	if err := json.Unmarshal(encoded, &p); err != nil {
		return "", nil, fmt.Errorf("a packet: %w", err)
	}
	for _, one := range p.Hints {
		var h Hint
		if json.Unmarshal(one, &h) == nil && h.known() {
			hints = append(hints, h)
		}
	}
	return p.From, hints, nil
}
