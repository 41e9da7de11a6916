package webtest

import (
	"slices"
	"strconv"

	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// scope is a <lockstep-scope> of the page: what of one actor is shown, at which revision. It keeps the rules of
// static/scope.js; all of it is under the page's lock.
type scope struct {
	page *Page
	node *html.Node
	name string // on the wire
	n    int64  // its newest subscribe

	token    string // that of the newest subscribe
	instance string // the incarnation that is shown
	base     int64  // the mark of every target that has none of its own
	marks    map[string]int64
	known    map[string]bool // targets that the server sends updates of

	touched  bool // it shows something else than what it was rendered with
	answered bool // on this connection
	followed bool // there was an answer for this token, so live frames of its instance are for it
	renewing bool // a new token is on its way; what gets it subscribes
	renewed  bool // a new token was asked for, and there was no answer since
	ended    bool // not asked for any more
	tries    int
}

func (p *Page) newScope(n *html.Node) *scope {
	p.names++
	s := &scope{page: p, node: n, name: "s" + strconv.Itoa(p.names), known: map[string]bool{}}
	s.stamp()
	s.show("connecting")
	return s
}

// stamp takes the plain stamp of the HTML it shows.
func (s *scope) stamp() {
	s.instance, s.base = attr(s.node, "instance"), number(attr(s.node, "revision"))
	s.marks, s.followed = map[string]int64{}, false
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (s *scope) show(status string) { setAttr(s.node, "status", status) }

// own are the elements that are its own and not a nested scope's.
func (s *scope) own(fits func(*html.Node) bool) []*html.Node {
	return elements(s.node, func(n *html.Node) bool { return fits(n) && ownerOf(n, s.node) == nil })
}

func (s *scope) targets(name string) []*html.Node {
	return s.own(func(n *html.Node) bool { return attr(n, targetAttr) == name })
}

func (s *scope) mark(name string) int64 {
	if m, ok := s.marks[name]; ok {
		return m
	}
	return s.base
}

// ask is what a subscribe says of it.
func (s *scope) ask() wire.Command {
	s.token = attr(s.node, "token")
	for _, n := range s.own(isTarget) {
		s.known[attr(n, targetAttr)] = true
	}
	return wire.Command{Type: "sub", Number: s.n, Scope: s.name, Token: s.token, More: s.more(), First: !s.touched, Lists: true}
}

// more are the tokens that came inside fragments.
func (s *scope) more() (tokens []string) {
	for _, n := range s.own(func(n *html.Node) bool { return has(n, tokenAttr) }) {
		if t := attr(n, tokenAttr); !slices.Contains(tokens, t) {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// answer takes the answer to its newest subscribe.
func (s *scope) answer(f *wire.Frame) {
	instance, revision := value(f.Instance), number(string(f.Revision))
	highest := revision // whatever lies above belongs to another incarnation, or the database has lost it
	if instance != s.instance {
		highest = 0
	}
	s.answered, s.followed, s.touched, s.ended, s.renewed, s.tries = true, true, true, false, false, 0
	s.instance, s.base = instance, min(s.base, highest)
	for name, mark := range s.marks {
		s.marks[name] = min(mark, highest)
	}
	for _, part := range f.Fragments {
		s.put(part.Target, number(string(part.Revision)), part.HTML, true)
	}
	s.show("connected")
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// live takes a live fragment of any scope.
func (s *scope) live(f *wire.Frame) {
	switch {
	case !s.followed || value(f.Instance) != s.instance:
	case f.Type == "l":
		s.patch(f)
	default:
		s.put(f.Target, number(string(f.Revision)), f.HTML, false)
	}
}

// put applies a fragment, whatever is shown if force is set, wherever the target stands. One of the mark's own revision
// counts: where a parent's fragment has set the mark, the target may stand outside that parent too.
func (s *scope) put(name string, revision int64, text string, force bool) {
	if !force && revision < s.mark(name) {
		return
	}
	for _, target := range s.targets(name) {
		fresh := parseFragment(text)
		if fresh == nil || !contains(s.node, target) {
			continue
		}
		s.update(target, fresh, name, revision)
	}
}

// patch changes a list item by item, if it is what the patch was made for; else it asks for everything anew.
func (s *scope) patch(f *wire.Frame) {
	lists, revision := s.targets(f.Target), number(string(f.Revision))
	if len(lists) == 0 || revision <= s.mark(f.Target) {
		return
	}
	fits := s.mark(f.Target) == number(string(f.Base))
	for _, list := range lists {
		spared := map[spot]bool{}
		fresh := clone(list)
		changed, ok := patchList(fresh, f, func(item *html.Node) { s.spare(list, item, revision, spared) })
		if fits = fits && ok; fits {
			s.page.adopt(list, fresh)
			s.page.hear(dataIn(list), dataIn(fresh))
			replace(list, fresh)
			s.page.updates++
			s.advance(changed, f.Target, revision, spared)
		}
	}
	if !fits {
		s.touched = true
		s.page.subscribe(s)
	}
}

// update shows a fragment in a target.
func (s *scope) update(target, fresh *html.Node, name string, revision int64) {
	spared := map[spot]bool{}
	s.spare(target, fresh, revision, spared)
	if settled(target) != settled(fresh) {
		carry(target, fresh)
		s.page.adopt(target, fresh)
		s.page.hear(dataIn(target), dataIn(fresh))
		replace(target, fresh)
		s.page.updates++
		target = fresh
	}
	s.advance([]*html.Node{target}, name, revision, spared)
}

// spot is a target of a scope.
type spot struct {
	scope *scope
	name  string
}

// spare puts what is shown now into a fragment wherever the fragment is older: a parent that was rendered before its
// child must not take the child back.
func (s *scope) spare(target, fresh *html.Node, revision int64, spared map[spot]bool) {
	pairs := s.page.pairs(target, fresh)
	for _, part := range elements(fresh, isTarget) {
		owner, limit := s, revision
		if around := ownerOf(part, fresh.Parent); around != nil {
			owner, limit = pairs[around], number(attr(around, "revision"))
		}
		name := attr(part, targetAttr)
		if owner == nil || !contains(fresh, part) || owner.mark(name) <= limit {
			continue
		}
		if shown := owner.targets(name); len(shown) > 0 {
			replace(part, clone(shown[0]))
			spared[spot{owner, name}] = true
		}
	}
}

// advance sets the marks of a target and of what its new parts brought.
func (s *scope) advance(parts []*html.Node, name string, revision int64, spared map[spot]bool) {
	s.touched, s.marks[name], s.known[name] = true, revision, true
	for _, part := range parts {
		for _, n := range elements(part, isTarget) {
			owner := s.page.scopeOf(ownerOf(n, nil))
			k := attr(n, targetAttr)
			switch {
			case owner == nil || spared[spot{owner, k}]:
			case owner == s:
				s.marks[k], s.known[k] = revision, true
			case owner.instance == attr(owner.node, "instance"):
				owner.marks[k] = number(attr(owner.node, "revision"))
			}
		}
	}
}

// follow takes note of a token that a parent's fragment brought.
func (s *scope) follow() {
	token := attr(s.node, "token")
	if token == s.token {
		return
	}
	instance := attr(s.node, "instance")
	if s.answered && instance != "" && instance == s.instance && !slices.ContainsFunc(s.own(isTarget), func(n *html.Node) bool {
		return !s.known[attr(n, targetAttr)]
	}) {
		s.token = token // rendered anew, and nothing in it that the subscription does not have already
		return
	}
	s.stamp()
	s.touched, s.ended, s.renewed, s.tries = true, false, false, 0
	s.show("connecting")
	s.page.subscribe(s)
}

// carry brings what a form shows beside its rendering, and elements that are to be kept, into a new rendering.
func carry(shown, fresh *html.Node) {
	isForm := func(n *html.Node) bool { return has(n, formAttr) }
	old := elements(shown, isForm)
	for _, form := range elements(fresh, isForm) {
		i := slices.IndexFunc(old, func(n *html.Node) bool { return attr(n, formAttr) == attr(form, formAttr) })
		if i < 0 {
			continue
		}
		carryForm(old[i], form)
	}
	if has(fresh, formAttr) && attr(shown, formAttr) == attr(fresh, formAttr) {
		carryForm(shown, fresh)
	}
	isKept := func(n *html.Node) bool { return has(n, keepAttr) }
	kept := elements(shown, isKept)
	for i, n := range elements(fresh, isKept) {
		same := func(k *html.Node) bool { return k.Data == n.Data && attr(k, "id") == attr(n, "id") }
		if attr(n, "id") == "" && i < len(kept) && same(kept[i]) {
			replace(n, clone(kept[i]))
		} else if at := slices.IndexFunc(kept, same); attr(n, "id") != "" && at >= 0 {
			replace(n, clone(kept[at]))
		}
	}
}

func carryForm(shown, fresh *html.Node) {
	isKey := func(n *html.Node) bool { return !has(n, outcomeAttr) }
	there := elements(fresh, isCarried)
	before := fresh.FirstChild
	for _, part := range elements(shown, isCarried) {
		if !slices.ContainsFunc(there, func(n *html.Node) bool { return isKey(n) == isKey(part) }) {
			fresh.InsertBefore(clone(part), before)
		}
	}
}
