package main

import (
	"cmp"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// The picture in the README is this project's own: `make screenshot` writes it to LOCKSTEP_SCREENSHOT.
func TestScreenshot(t *testing.T) {
	path := cmp.Or(os.Getenv("LOCKSTEP_SCREENSHOT"), filepath.Join(t.TempDir(), "shop.png"))
	shop := openShop(t, config{})
	b := chromiumtest.Open(t)
	stranger, p := b.Visitor(t), b.Visitor(t)
	for _, page := range []*chromiumtest.Page{stranger, p} {
		page.Viewport(1200, 800)
		page.SetScheme("light")
		page.Goto(shop.URL + "/")
		page.WaitFor(`document.documentElement.dataset.lsStatus === "connected"`)
	}
	before := p.Text(".card .left")
	stranger.Click(".card .quick button")
	p.WaitFor(`document.querySelector(".card .left").textContent !== "` + before + `"`)
	p.Click(".card:nth-child(3) .quick button")
	p.WaitText(".count span", "1")
	p.WaitFor(`[...document.images].filter(i => i.getBoundingClientRect().top < innerHeight).every(i => i.complete)`)
	p.Screenshot(path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.DecodeConfig(f)
	if err != nil || picture.Width != 1200 {
		t.Errorf("the screenshot is %d pixels wide, %v; want 1200", picture.Width, err)
	}
}
