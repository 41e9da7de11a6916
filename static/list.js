// Lists: what is shown becomes a later revision item by item, and the whole of it need not be sent. Loaded when the first
// patch arrives; what it needs is lent to it, so that the modules which every page loads stay in one piece.

/**
 * @typedef {object} Tools
 * @property {typeof import("./pair.js").insert} insert
 * @property {typeof import("./morph.js").keepingFocus} keepingFocus
 * @property {typeof import("./morph.js").morph} morph
 * @property {typeof import("./pair.js").move} move
 * @property {typeof import("./html.js").parse} parse
 * @property {typeof import("./morph.js").same} same
 * @property {(shown: Element, fresh: Element) => void} spare puts into new HTML what must not be taken back
 */
/** @typedef {{k: string, a?: string, h?: string}} Change an item's new place, behind that item or in front, and HTML */

/**
 * Changes a list. Each item that moves goes behind one that has its place already.
 * @param {Element} list
 * @param {{token?: string, x?: string[], d?: Change[]}} patch
 * @param {Tools} tools
 * @returns {Element[] | undefined} the items with new HTML; undefined if the list is not what the patch was made for
 */
export function patchList(list, { token, x = [], d = [] }, { insert, keepingFocus, morph, move, parse, same, spare }) {
	const items = new Map([...list.children].map((item) => [item.getAttribute("data-ls-item"), item]));
	const changed = /** @type {Element[]} */ ([]);
	let fits = x.every((k) => items.has(k));
	keepingFocus(list, () => {
		for (const k of x) items.get(k)?.remove();
		for (const { k, a, h } of d) {
			let item = /** @type {any} */ (items.get(k));
			const fresh = h ? parse(h) : null;
			const next = a ? items.get(a)?.nextSibling : list.firstChild;
			fits &&= !!(item || (fresh && a != null)) && next !== undefined;
			if (!fits) break;
			if (fresh) spare(item ?? list, fresh);
			if (!item) item = insert(fresh, true, (copy) => list.insertBefore(copy, next ?? null));
			else {
				if (fresh && !same(item, fresh)) item = morph(item, fresh);
				if (a != null && item !== next) move(list, item, next);
			}
			items.set(k, item);
			if (fresh) changed.push(item);
		}
		return list;
	});
	if (!fits) return;
	if (token) list.setAttribute("data-ls-token", token);
	else list.removeAttribute("data-ls-token");
	return changed;
}
