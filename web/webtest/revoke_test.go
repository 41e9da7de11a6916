package webtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// R39: two hubs of one process on an in-process bus: what one revokes ends the other's pages by the hint, long before it
// would look by itself.
func TestC4_R39_RevokedByAnotherHubOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newBoardApp(t, actors.InsecureAllowAll())
		app.lead("alice", 1)
		app.lead("bob", 1)
		alice, bob := app.site.Visitor(), app.site.Visitor()
		alice.Header.Set("X-User", "alice")
		alice.Header.Set("X-Session", "alice's")
		bob.Header.Set("X-User", "bob")
		bob.Header.Set("X-Session", "bob's")
		page, other := alice.Get("/shelf/a"), bob.Get("/shelf/a")
		page.Equal()
		other.Equal()
		time.Sleep(10*time.Second + 100*time.Millisecond) // right after a look, and 900 ms before the next
		synctest.Wait()
		if err := app.processes[0].live.Revoke(t.Context(), actors.Revocation{Session: "alice's"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if got := page.Status(); got != "denied" {
			t.Errorf("200 ms after it was revoked the page is %q", got)
		}
		if err := app.processes[0].set("a", "n", 7); err != nil {
			t.Fatal(err)
		}
		other.WaitText("h2", "7")
		if got := page.Text("h2"); got == "7" {
			t.Error("the revoked page followed")
		}
		if got := other.Status(); got != "connected" {
			t.Errorf("the other page is %q", got)
		}
	})
}
