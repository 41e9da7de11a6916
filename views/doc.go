// Package views renders actors into templ pages, in parts that stay current.
//
//	var Summary = views.Component2("summary", Items, Status, summary) // templ summary(items []Item, status string)
//	var Line = views.Keyed1("line", Items, line)                      // templ line(p LineParams, items []Item)
//
//	templ CartPage(cart actors.Ref[Cart]) {
//		@views.Object(cart) {
//			<h1>In your cart: @views.Value(Count)</h1>
//			@Summary
//			for _, sku := range catalogue {
//				@Line.Each(sku, LineParams{SKU: sku})
//			}
//			@views.Form(Add, "/cart/add") {
//				<input name="sku"/>
//				<button>Add</button>
//			}
//		}
//	}
//
// [Object] reads one committed snapshot and everything inside it shows that snapshot. A [Value] and a component are
// targets: the same code renders them for the page and, after a later commit, for the socket, and the bytes are equal
// but for tokens, form keys and form outcomes. A component's arguments are its observables, so it cannot show what it
// does not follow.
//
// A component has one root element. It is shared unless it says otherwise: rendered once for everybody who looks, under
// a ctx without values, so that nothing about one viewer can reach another. PerViewer renders it under each viewer's
// ctx, By once for each group of viewers.
//
// A [List] shows each element of an observable as an item, and pushes hold just the items that changed, came, moved or
// went. [Data] gives the page's scripts a value as JSON. Both are components in all else:
//
//	var Lines = views.List("lines", Items, Item.Key, lines, line) // templ lines() { <ul>{ children... }</ul> }
//	var Chart = views.Data("chart", Points, func(_ context.Context, points []Point) any { return points })
//
// # Concurrency
//
// Components are made while the program initializes and are safe for concurrent use afterwards, and so is a
// [Renderer]. One page is rendered by one goroutine at a time.
//
// # Errors
//
// Mistakes that Go's types cannot express (two components of one name, observables of two types) are kept and returned
// together by [Check] when the renderer is built. What is left fails the render with a sentence that names both types:
// a value or component inside the wrong object, outside any, or on a page without the middleware. A panic in a
// component is a *actors.Panicked, an observable that changes its actor's state a *actors.QueryChangedState, an object
// that shows too much a *PageTooLarge; the errors of the read are the reader's own.
//
// # Lifecycle
//
// Nothing here starts a goroutine or holds a connection. A render that fails has written nothing of its Object, but
// what stands before it may have gone out: render pages into a buffer.
package views
