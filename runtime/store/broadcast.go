package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// AbsorbBroadcast lets the newer b stand for an older one too (G27).
func AbsorbBroadcast(b, older *Broadcast) {
	b.Previous = min(b.Previous, older.Previous)
	names := slices.Clone(b.Names)
	for _, name := range older.Names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	b.Names = names
	values := maps.Clone(older.Values)
	if values == nil {
		values = map[string]json.RawMessage{}
	}
	maps.Copy(values, b.Values)
	b.Values = values
}

// EncodeBroadcast makes the texts that a row keeps of a broadcast's names and shared values.
func EncodeBroadcast(b *Broadcast) (names, shared string, err error) {
	n, err := json.Marshal(b.Names)
	if err != nil {
		return "", "", fmt.Errorf("broadcast names: %w", err)
	}
	if len(b.Values) == 0 {
		return string(n), "{}", nil
	}
	// Values are kept byte for byte, as a string each: json.Marshal would compact and escape raw documents.
	texts := make(map[string]string, len(b.Values))
	for name, v := range b.Values {
		texts[name] = string(v)
	}
	v, err := json.Marshal(texts)
	if err != nil {
		return "", "", fmt.Errorf("broadcast values: %w", err)
	}
	return string(n), string(v), nil
}

// DecodeBroadcast reads them back into b. Of a row that cannot be read nothing is known but its revision: it is handed on
// as one that covers no interval, which makes whoever follows the actor render everything, and false says that a newer row
// cannot stand for it (R31).
func DecodeBroadcast(names, shared string, b *Broadcast) bool {
	var texts map[string]string
	if json.Unmarshal([]byte(names), &b.Names) != nil || json.Unmarshal([]byte(shared), &texts) != nil {
		b.Names, b.Values, b.Previous = nil, nil, b.Revision
		return false
	}
	if len(texts) > 0 {
		b.Values = make(map[string]json.RawMessage, len(texts))
		for name, v := range texts {
			b.Values[name] = json.RawMessage(v)
		}
	}
	return true
}
