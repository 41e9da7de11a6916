package realtime

import (
	"crypto/sha256"
	"sync"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// A list is a component whose HTML is a frame with items in it. What the page shows of it is a fragment like any other;
// a patch is that fragment in fewer bytes, for those who show a known earlier one. The hub knows what each subscription
// shows, since a connection loses nothing but at its end: what was last queued for it, or the answer. Where it does not
// know, it sends the fragment.

// version is what one render of a list had in it, without the HTML: names and digests. Connections that were sent the same
// bytes share one.
type version struct {
	revision int64
	frame    [16]byte
	items    []itemSum
}

type itemSum struct {
	name string
	sum  [16]byte
}

func sumOf(text string) (sum [16]byte) {
	full := sha256.Sum256([]byte(text))
	copy(sum[:], full[:])
	return sum
}

func versionOf(l *wire.List, revision int64) *version {
	v := &version{revision, sumOf(l.Frame), make([]itemSum, len(l.Items))}
	for i, item := range l.Items {
		v.items[i] = itemSum{item.Name, sumOf(item.HTML)}
	}
	return v
}

// places says where each item stands, by its name.
func (v *version) places() map[string]int {
	at := make(map[string]int, len(v.items))
	for i, item := range v.items {
		at[item.name] = i
	}
	return at
}

// maxKept is how many items, of lists that not everybody shares, the hub knows of one connection. What lies beyond is
// sent whole each time.
const maxKept = 8192

// knows notes which version of a list s shows. topic.mu is held.
func (s *sub) knows(at *shown, v *version) {
	s.forgets(at)
	if n := int64(len(v.items)); at.personal() && s.conn.kept.Add(n) > maxKept {
		s.conn.kept.Add(-n)
		return
	}
	note(&s.has, at, v)
}

// forgets undoes knows. topic.mu is held.
func (s *sub) forgets(at *shown) {
	v := s.has[at]
	delete(s.has, at)
	if v != nil && at.personal() {
		s.conn.kept.Add(-int64(len(v.items)))
	}
}

func (s *sub) forgetsAll() {
	for at := range s.has {
		s.forgets(at)
	}
}

// brings notes that s's answer shows a list, unless a fragment that goes out right after it shows a newer one. A viewer's
// own is the same in every scope of the page, so that one patch is for all of them. It is the worker's; topic.mu is held.
func (s *sub) brings(at *shown, v *version) {
	if at == nil || v == nil || !s.lists || !at.subs[s] {
		return
	}
	for _, other := range s.conn.scopes {
		if other.topic != s.topic {
			continue // whose lock is another
		}
		if same := other.has[at]; same != nil && same.revision == v.revision {
			v = same
		}
	}
	if held := s.has[at]; held == nil || held.revision < v.revision {
		s.knows(at, v)
	}
}

// patches are those of one render, by what they begin with.
type patches struct {
	mu   sync.Mutex
	made map[*version]*frame
}

// maxPatches bounds how many a render keeps: as many as there are connections that are late at different times.
const maxPatches = 64

// patch is the frame that makes a page which shows base show r, made once for all. It is nil where the fragment serves
// better.
func (r *rendered) patch(t *topic, base *version) *frame {
	r.patches.mu.Lock()
	defer r.patches.mu.Unlock()
	if f, ok := r.patches.made[base]; ok {
		return f
	}
	if len(r.patches.made) >= maxPatches || r.version.frame != base.frame {
		return nil
	}
	payload := wire.AppendPatch(nil, difference(base, r))
	var f *frame
	if len(payload) < len(r.html) {
		f = newFrame(payload)
		f.topic, f.name, f.version, f.base = t, r.name, r.version, base
	}
	note(&r.patches.made, base, f)
	return f
}

// difference is what of base must change. Changes stand in the order of the items: each that moves is put behind the one
// before it, which has its place by then. As few as possible move.
func difference(base *version, r *rendered) wire.Frame {
	f := wire.Frame{Instance: &r.instance, Revision: r.revision, Base: wire.Rev(base.revision), Target: r.name, Token: r.frag.List.Token}
	before, now := base.places(), r.version.places()
	for _, item := range base.items {
		if _, there := now[item.name]; !there {
			f.Gone = append(f.Gone, item.name)
		}
	}
	stay := staying(before, r.version)
	follows := ""
	for i, item := range r.version.items {
		change := wire.Change{Item: item.name}
		at, there := before[item.name]
		if !there || base.items[at].sum != item.sum {
			change.HTML = &r.frag.List.Items[i].HTML
		}
		if !stay[i] {
			change.After = new(follows)
		}
		if change.HTML != nil || change.After != nil {
			f.Changes = append(f.Changes, change)
		}
		follows = item.name
	}
	return f
}

// staying says which items of now can stay where they were: the longest run that has kept its order.
func staying(places map[string]int, now *version) []bool {
	stay := make([]bool, len(now.items))
	before := make([]int, len(now.items)) // in the run that ends here
	var ends []int                        // for each length, the item with the earliest old place that ends such a run
	for i, item := range now.items {
		place, there := places[item.name]
		if !there {
			continue
		}
		low, high := 0, len(ends)
		for low < high {
			middle := (low + high) / 2
			if places[now.items[ends[middle]].name] < place {
				low = middle + 1
			} else {
				high = middle
			}
		}
		before[i] = -1
		if low > 0 {
			before[i] = ends[low-1]
		}
		if low == len(ends) {
			ends = append(ends, i)
		} else {
			ends[low] = i
		}
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			stay[i] = true
		}
	}
	return stay
}
