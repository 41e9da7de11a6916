package store

// Bounded is a Store whose database takes documents only up to a size. Largest is that size, and the name of the setting
// that makes it so.
type Bounded interface {
	Largest() (bytes int, setting string)
}

// Sharing is a Store that may work on a pool of connections of the application's. SharedPool is how many that pool may
// have, or zero where it has no bound or is the store's own.
type Sharing interface {
	SharedPool() int
}
