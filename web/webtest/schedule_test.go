package webtest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/web/webtest/testdata/board"
)

// schedule is what happens to an application of two processes and its visitors, one step a line. It is drawn, shrunk,
// printed, kept in testdata/schedules, and played to pages without a browser and to Chromium. What a process does is done
// by the first, or by the second where the line ends in @1.
//
//	stream PAGE...        have connections that are streams; the first line, if any
//	set SHELF WHAT TO     commits a change: of n, m or rows, or a quiet one that nothing shows
//	put SHELF THING SIZE  adds a thing in front, or changes its size
//	move SHELF THING TO   moves one to a place
//	take SHELF THING      takes one away
//	show SHELF...         shows these shelves beside the first
//	destroy SHELF         removes one; the next change creates another of that name
//	cut PAGE              breaks the page's connection
//	cross PAGE            breaks it, and has the page's network lead to the other process
//	freeze PAGE           lets the page take nothing more, until thaw PAGE
//	drop PAGE COUNT       loses frames that the page should get, before it is cut
//	repeat PAGE COUNT     lets fragments and patches arrive three times
//	reorder PAGE COUNT    lets fragments and patches arrive last first
//	reload PAGE           loads the page anew
//	lose COUNT            loses what the runtime tells the hub of commits
//	double COUNT          tells it twice
//	delay COUNT           tells it after what comes next
//	mute COUNT            loses what the process tells the other
//	restart               is a deploy of the process
//	kill                  ends it without a word, with another in its place
//	wait MS
//	hurry                 from here on, does the next step before what the last one caused has come to rest
type schedule []string

func (s schedule) String() string { return strings.Join(s, "\n") + "\n" }

// parseSchedule reads what String wrote; lines that begin with # are remarks.
func parseSchedule(text string) (s schedule) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			s = append(s, line)
		}
	}
	return s
}

var (
	shelfIDs = []string{"a", "b", "c"}
	pageIDs  = []string{"0", "1", "2"}
	thingIDs = []string{"axe", "bag", "cap", "dye", "eel"}
)

// drawSchedule draws one of random steps: of commits, and of a few kinds of mishap. What mends a page, such as a reload,
// would hide in most schedules what another mishap has done to it.
func drawSchedule(t *rapid.T) schedule {
	kinds := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"show", "destroy", "cut", "cross", "freeze", "drop", "repeat", "reorder", "reload", "lose", "lose", "double", "delay", "mute", "restart", "kill", "wait",
	}), 0, 4, rapid.ID).Draw(t, "kinds")
	if slices.Contains(kinds, "freeze") {
		kinds = append(kinds, "thaw")
	}
	if slices.Contains(kinds, "drop") {
		kinds = append(kinds, "cut")
	}
	kinds = append(slices.Repeat(rapid.SampledFrom([][]string{{"set"}, {"put", "put", "move", "take"}, {"set", "put", "move", "take"}}).Draw(t, "commits"), len(kinds)+1), kinds...)
	both := rapid.Bool().Draw(t, "both")
	least := rapid.SampledFrom([]int{1, 10, 30}).Draw(t, "least")
	s := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawStep(t, kinds, both) }), least, 60).Draw(t, "schedule")
	if rapid.IntRange(0, 3).Draw(t, "hurry") == 3 { // which is what a run cannot repeat exactly
		s = append([]string{"hurry"}, s...)
	}
	if streams := rapid.SliceOfNDistinct(rapid.SampledFrom(pageIDs), 0, len(pageIDs), rapid.ID).Draw(t, "streams"); len(streams) > 0 {
		s = append([]string{"stream " + strings.Join(streams, " ")}, s...)
	}
	return s
}

// drawStep draws a step of one of these kinds; both says whether the second process does anything.
func drawStep(t *rapid.T, kinds []string, both bool) string {
	step := drawWords(t, kinds)
	verb, _, _ := strings.Cut(step, " ")
	if both && !ofPages[verb] && rapid.Bool().Draw(t, "second") {
		step += " @1"
	}
	return step
}

// ofPages are the steps that no process does.
var ofPages = map[string]bool{
	"cut": true, "cross": true, "freeze": true, "thaw": true, "drop": true, "repeat": true, "reorder": true, "reload": true, "wait": true,
}

func drawWords(t *rapid.T, kinds []string) string {
	shelf, thing := rapid.SampledFrom(shelfIDs), rapid.SampledFrom(thingIDs)
	verb := rapid.SampledFrom(kinds).Draw(t, "step")
	switch verb {
	case "put", "move":
		return fmt.Sprint(verb, " ", shelf.Draw(t, "shelf"), " ", thing.Draw(t, "thing"), " ", rapid.IntRange(0, 4).Draw(t, "to"))
	case "take":
		return "take " + shelf.Draw(t, "shelf") + " " + thing.Draw(t, "thing")
	case "set":
		what := rapid.SampledFrom([]string{"n", "n", "m", "m", "rows", "quiet"}).Draw(t, "what")
		return "set " + shelf.Draw(t, "shelf") + " " + what + " " + strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "to"))
	case "show":
		return strings.TrimSpace("show " + strings.Join(rapid.SliceOfNDistinct(shelf, 0, 3, rapid.ID).Draw(t, "shelves"), " "))
	case "destroy":
		return "destroy " + shelf.Draw(t, "shelf")
	case "wait":
		return "wait " + strconv.Itoa(rapid.SampledFrom([]int{1, 20, 60, 120, 700, 3000}).Draw(t, "ms"))
	case "restart", "kill":
		return verb
	}
	of := verb
	if ofPages[verb] {
		of += " " + rapid.SampledFrom(pageIDs).Draw(t, "page")
	}
	if slices.Contains([]string{"cut", "cross", "freeze", "thaw", "reload"}, verb) {
		return of
	}
	most := 3
	if verb == "repeat" || verb == "reorder" {
		most = 12 // a commit has several fragments
	}
	return of + " " + strconv.Itoa(rapid.IntRange(1, most).Draw(t, "count"))
}

// visitors are what a schedule is played to.
type visitors interface {
	cut(page int)
	freeze(page int)
	thaw(page int)
	drop(page, n int)
	repeat(page, n int)
	reorder(page, n int)
	reload(page int)
}

// streams says which pages have streams.
func (s schedule) streams() (pages [3]bool) {
	for _, line := range s {
		if ids, ok := strings.CutPrefix(line, "stream "); ok {
			for id := range strings.FieldsSeq(ids) {
				pages[slices.Index(pageIDs, id)] = true
			}
		}
	}
	return pages
}

// play does one step after another.
func (s schedule) play(app *boardApp, v visitors) error {
	settle := app.settle
	for _, line := range s {
		words, by := line, app.processes[0]
		if rest, second := strings.CutSuffix(line, " @1"); second {
			words, by = rest, app.processes[1]
		}
		word := strings.Fields(words)
		if word[0] == "hurry" {
			settle = func() {}
		} else if known, err := step(word, app, by, v); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		} else if !known {
			return fmt.Errorf("%s: no such step", line)
		}
		settle()
	}
	return nil
}

// step does one step, if it is one of a page or of a process.
func step(word []string, app *boardApp, by *boardProcess, v visitors) (known bool, err error) {
	number := func(i int) int {
		if i >= len(word) {
			return 0
		}
		n, _ := strconv.Atoi(word[i])
		return n
	}
	switch word[0] {
	case "stream": // which they are from the beginning
	case "set":
		err = by.change(word[1], board.Change{What: word[2], To: number(3)})
	case "put", "move", "take":
		err = by.change(word[1], board.Change{What: word[0], Name: word[2], To: number(3)})
	case "show":
		err = by.show(word[1:])
	case "destroy":
		err = by.destroy(word[1])
	case "cut":
		v.cut(number(1))
	case "cross":
		app.cross(number(1))
		v.cut(number(1))
	case "freeze":
		v.freeze(number(1))
	case "thaw":
		v.thaw(number(1))
	case "drop":
		v.drop(number(1), number(2))
	case "repeat":
		v.repeat(number(1), number(2))
	case "reorder":
		v.reorder(number(1), number(2))
	case "reload":
		v.reload(number(1))
	case "lose":
		by.fault(func(p *boardProcess) { p.lose = number(1) })
	case "double":
		by.fault(func(p *boardProcess) { p.double = number(1) })
	case "delay":
		by.fault(func(p *boardProcess) { p.delay = number(1) })
	case "mute":
		by.fault(func(p *boardProcess) { p.mute = number(1) })
	case "restart":
		app.replace(by, false)
	case "kill":
		for i := range pageIDs {
			if app.of(i) == by {
				v.cut(i)
			}
		}
		app.replace(by, true)
	case "wait":
		time.Sleep(time.Duration(number(1)) * time.Millisecond)
	default:
		return false, nil
	}
	return true, err
}
