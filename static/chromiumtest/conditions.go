package chromiumtest

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// command makes a step of one protocol command whose result nobody needs.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// SetJavaScript switches the page's scripts on or off, from the next Goto on. Eval works all the same.
func (p *Page) SetJavaScript(enabled bool) {
	p.t.Helper()
	p.noJS = !enabled
	p.Do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !enabled}))
}

// SetScheme makes the page see a preference for "dark" or "light" colours.
func (p *Page) SetScheme(scheme string) {
	p.t.Helper()
	p.Do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// Viewport sets the size of the window's inside in CSS pixels.
func (p *Page) Viewport(width, height int) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(int64(width), int64(height)))
}

// Offline takes the visitor's network away, or gives it back: requests fail, navigator.onLine says so, and the page
// hears its offline and online events. A socket that is already open may stay open, as with a network that is gone
// without a word.
func (p *Page) Offline(offline bool) {
	p.t.Helper()
	p.Do(
		command(network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{Offline: offline, DownloadThroughput: -1, UploadThroughput: -1}},
		}),
		command(network.OverrideNetworkState, network.OverrideNetworkStateParams{
			Offline: offline, DownloadThroughput: -1, UploadThroughput: -1,
		}),
	)
}
