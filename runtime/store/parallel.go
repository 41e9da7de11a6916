package store

// Parallel is a Store that writes more in several flushes at once than in one, and says how many. Whoever flushes keeps
// what concerns one actor in one of them at a time.
type Parallel interface {
	Flushes() int
}
