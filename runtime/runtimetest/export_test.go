package runtimetest

// Actors that keep each other busy do so for as long as the tests of it take.
func init() { maxTurns = 200 }
