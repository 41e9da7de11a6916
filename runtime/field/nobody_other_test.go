//go:build !unix

package field

import "testing"

func asNobody(t *testing.T) { t.Skip("no user here is root") }
