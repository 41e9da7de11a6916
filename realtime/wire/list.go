package wire

// List is the HTML of a list whose items are sent one by one, in pieces.
type List struct {
	Frame string // the list's own element, without its items and its token
	Token string // for the targets inside it, or ""
	Items []Item
}

// Item is one element of a list. Its name is equal for equal keys of one list, and tells it from the list's others.
type Item struct{ Name, HTML string }

// Change is what a patch says of one item: its new HTML, its new place, or both.
type Change struct {
	Item  string  `json:"k"`
	After *string `json:"a,omitempty"` // the item that it follows, "" for the first; nil: it stays where it is
	HTML  *string `json:"h,omitempty"` // nil: it stays as it is
}

// AppendPatch appends the frame of a patch.
func AppendPatch(to []byte, f Frame) []byte {
	instance := ""
	if f.Instance != nil {
		instance = *f.Instance
	}
	to = append(to, `{"t":"l","i":`...)
	to = appendString(to, instance)
	to = append(to, `,"r":"`...)
	to = append(to, f.Revision...)
	to = append(to, `","b":"`...)
	to = append(to, f.Base...)
	to = append(to, `","k":`...)
	to = appendString(to, f.Target)
	to = append(to, `,"token":`...)
	to = appendString(to, f.Token)
	to = append(to, `,"x":[`...)
	for i, name := range f.Gone {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendString(to, name)
	}
	to = append(to, `],"d":[`...)
	for i, c := range f.Changes {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, `{"k":`...)
		to = appendString(to, c.Item)
		if c.After != nil {
			to = append(append(to, `,"a":`...), String(*c.After)...)
		}
		if c.HTML != nil {
			to = append(append(to, `,"h":`...), String(*c.HTML)...)
		}
		to = append(to, '}')
	}
	return append(to, `]}`...)
}
