package static_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// morphRandomly morphs random trees into random others and returns what went wrong, with the seed that repeats it.
const morphRandomly = `async (from, count) => {
	const { morph } = await import("/lockstep/static/DIGEST/morph.js");
	const NAMES = ["div", "p", "ul", "li", "b", "table", "section", "input", "textarea", "select", "details", "template", "svg"];
	const problems = [];
	for (let seed = from; seed < from + count && problems.length < 3; seed++) {
		let state = seed * 2654435761 >>> 0;
		const random = n => (state = (state * 1664525 + 1013904223) >>> 0, Math.floor(state / 4294967296 * n));
		const keys = [..."abcdefghij"];
		const build = (keys, depth) => {
			const pick = random(12);
			if (pick < 3) return document.createTextNode(["one", "two", " "][random(3)]);
			if (pick < 4) return document.createComment("c" + random(3));
			const name = NAMES[random(NAMES.length)];
			const made = name === "svg" ? document.createElementNS("http://www.w3.org/2000/svg", "svg") : document.createElement(name);
			if (random(3) === 0 && keys.length) {
				const key = keys.splice(random(keys.length), 1)[0];
				made.setAttribute(["id", "data-ls"][key.charCodeAt(0) % 2], key);
			}
			for (const attribute of ["class", "title", "value"]) if (random(4) === 0) made.setAttribute(attribute, "v" + random(3));
			if (name === "svg" && random(2)) made.setAttributeNS("http://www.w3.org/1999/xlink", "xlink:href", "#" + random(3));
			if (depth > 0 && !/input|textarea|select/.test(name)) {
				const into = name === "template" ? made.content : made;
				for (let n = random(6); n--;) into.append(build(keys, depth - 1));
			}
			if (name === "textarea" && random(2)) made.append("text" + random(2));
			if (name === "select") for (let n = random(4); n--;) {
				const chosen = !random(2);
				made.append(new Option("o" + random(3), "o" + n, chosen, chosen));
			}
			return made;
		};
		const root = () => {
			const made = document.createElement("main");
			const mine = [...keys];
			for (let n = 1 + random(6); n--;) made.append(build(mine, 4));
			made.normalize();
			return made;
		};
		const shown = root(), fresh = document.implementation.createHTMLDocument("").importNode(root(), true);
		// What a tree says, whatever the order of attributes.
		const says = node => node.nodeType !== 1 ? node.nodeName + JSON.stringify(node.nodeValue) :
			node.namespaceURI + node.localName + JSON.stringify([...node.attributes].map(a => [a.namespaceURI, a.name, a.value]).sort()) +
			"(" + [...(node.content ?? node).childNodes].map(says).join() + ")";
		const want = says(fresh), was = shown.outerHTML;
		document.body.replaceChildren(shown);
		const identities = root => new Map([...root.querySelectorAll("[id],[data-ls]")].map(e => [e.id || e.getAttribute("data-ls"), e]));
		const before = identities(shown);
		try {
			if (morph(shown, fresh) !== shown) problems.push("seed " + seed + ": the root was replaced");
		} catch (error) {
			problems.push("seed " + seed + ": " + error.stack);
			continue;
		}
		if (says(shown) !== want) problems.push("seed " + seed + ":\nfrom " + was + "\ngot  " + says(shown) + "\nwant " + want);
		for (const [key, element] of identities(shown)) {
			const old = before.get(key);
			if (old && old.localName === element.localName && old !== element) problems.push("seed " + seed + ": " + key + " is another element now\nfrom " + was + "\nto   " + want);
		}
		for (const select of shown.querySelectorAll("select")) {
			const copy = select.cloneNode(true);
			if (select.value !== copy.value) problems.push("seed " + seed + ": " + select.outerHTML + " says " + select.value + ", want " + copy.value + "\nfrom " + was);
		}
	}
	return problems;
}`

// Whatever was shown and whatever was rendered: the page shows what was rendered, and what has an identity stays itself.
func TestMorphMakesAnyTreeAnyOther(t *testing.T) {
	st := newStub(t, "<p>no scope</p>")
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	seed := time.Now().UnixNano() % 1e9
	t.Logf("seed %d", seed)
	for range 10 {
		var problems []string
		p.Eval(`(`+replaceDigest(morphRandomly)+`)(`+jsonOf(t, seed)+`, 100)`, &problems)
		for _, problem := range problems {
			t.Error(problem)
		}
		seed += 100
	}
}

// An item that changes its place is the only one that moves, and one that comes or goes moves nobody.
func TestMorphMovesNoMoreThanItMust(t *testing.T) {
	st := newStub(t, "<p>no scope</p>")
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	for _, c := range []struct {
		from, to string
		touched  int // nodes put somewhere or taken away
	}{
		{"abcdef", "bcdefa", 2}, // a move is a removal and an addition
		{"abcdef", "fabcde", 2},
		{"abcdef", "abdef", 1},
		{"abcdef", "xabcdef", 1},
		{"abcdef", "abcxdef", 1},
		{"abcdef", "badcfe", 6},
		{"abcdef", "abcdef", 0},
	} {
		for _, keyed := range []string{"true", "false"} {
			if keyed == "false" && len(c.from) == len(c.to) {
				continue // without identities a moved row is a row that says something else
			}
			var touched int
			p.Eval(replaceDigest(`(async (from, to, keyed) => {
				const { morph } = await import("/lockstep/static/DIGEST/morph.js");
				const list = letters => {
					const made = document.createElement("ul");
					for (const letter of letters) {
						const item = document.createElement("li");
						if (keyed) item.setAttribute("data-ls", letter);
						item.append(document.createElement("b"), letter);
						made.append(item);
					}
					return made;
				};
				const shown = list(from);
				document.body.replaceChildren(shown);
				const seen = new MutationObserver(() => {});
				seen.observe(shown, { childList: true, subtree: true, characterData: true, attributes: true });
				morph(shown, list(to));
				let touched = 0;
				for (const record of seen.takeRecords()) touched += record.addedNodes.length + record.removedNodes.length + (record.type !== "childList");
				return touched;
			})(`)+jsonOf(t, c.from)+`,`+jsonOf(t, c.to)+`,`+keyed+`)`, &touched)
			if touched != c.touched {
				t.Errorf("%s to %s (identities: %s): %d touched, want %d", c.from, c.to, keyed, touched, c.touched)
			}
		}
	}
}

// replaceDigest puts the client's address into a script.
func replaceDigest(js string) string { return strings.ReplaceAll(js, "DIGEST", static.Digest()) }

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}
