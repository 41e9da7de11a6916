package main

import (
	"fmt"
	"strings"
)

// targets is how many parts of a page a burst changes at once.
const targets = 50

// The pages that connections are opened for, alike for all peers.
const (
	pageOne  = "one"  // shows one target
	pageMany = "many" // shows all of them
)

// fragment is the HTML that everybody pushes: a list of about size bytes, without its root's closing attributes. Target
// k shows it the n-th time.
func fragment(k, n, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<ul id="t%d">`, k)
	for i := 0; b.Len() < size-40; i++ {
		fmt.Fprintf(&b, `<li class="line">Item %d: %d left</li>`, i, n)
	}
	b.WriteString("</ul>")
	return b.String()
}

// pushed is how many fragments a change of a page pushes to each of its connections.
func pushed(page string) int {
	if page == pageMany {
		return targets
	}
	return 1
}
