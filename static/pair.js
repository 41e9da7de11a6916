// Making the shown tree the rendered one: which node becomes which, and with as few moves as there can be.

/** @typedef {any} Shown a node of the page */
/** @typedef {any} Fresh a node of the new rendering, which is only read */

const KEYED = "[id],[data-ls],[data-ls-item],[data-ls-form],[data-ls-keep],lockstep-scope";
const MANY = 2000; // siblings without an identity that are compared with each other

/** @param {Element} root @param {string} selector the root included */
export const all = (root, selector) => [...(root.matches(selector) ? [root] : []), ...root.querySelectorAll(selector)];

/** @param {any} node @returns {string | undefined} what tells it from others of its kind */
function keyOf(node) {
	const name = ["id", "data-ls", "data-ls-item", "data-ls-form"].find((name) => node.getAttribute?.(name));
	return name && name + node.getAttribute(name);
}

/** @param {Element} root @returns {Map<string, Element | null>} what has an identity below it; null for one that two have */
function identities(root) {
	let kept = 0;
	const found = new Map();
	for (const element of root.querySelectorAll(KEYED)) {
		if (element.parentElement?.closest("[data-ls-keep]")) continue;
		const key = keyOf(element) ?? (element.hasAttribute("data-ls-keep") ? "keep" + kept++ : element.getAttribute("instance"));
		if (key) found.set(key, found.has(key) ? null : element);
	}
	return found;
}

/** @param {Shown} node */
export const kind = (node) => [node.nodeName, keyOf(node), node.localName === "input" && node.type].join();

/**
 * The longest run of positions whose numbers grow: those can stay where they are. Negative numbers are none.
 * @param {number[]} numbers
 */
function growing(numbers) {
	/** @type {number[]} */
	const tails = []; // for each length the position with the smallest last number
	/** @type {number[]} */
	const before = [];
	numbers.forEach((n, i) => {
		if (n < 0) return;
		let [low, high] = [0, tails.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (numbers[tails[middle]] < n) low = middle + 1;
			else high = middle;
		}
		before[i] = tails[low - 1];
		tails[low] = i;
	});
	const run = new Set();
	for (let i = tails.at(-1); i !== undefined; i = before[i]) run.add(i);
	return run;
}

/**
 * Pairs of the longest sequence that two lists have in common, in order.
 * @param {string[]} a
 * @param {string[]} b
 */
function common(a, b) {
	const width = b.length + 1;
	const best = new Uint16Array((a.length + 1) * width);
	for (let i = a.length; i--; ) {
		for (let j = b.length; j--; ) {
			const here = i * width + j;
			best[here] = a[i] === b[j] ? best[here + width + 1] + 1 : Math.max(best[here + width], best[here + 1]);
		}
	}
	/** @type {[number, number][]} */
	const pairs = [];
	for (let i = 0, j = 0; i < a.length && j < b.length; ) {
		const here = i * width + j;
		if (a[i] === b[j]) pairs.push([i++, j++]);
		else if (best[here + width] >= best[here + 1]) i++;
		else j++;
	}
	return pairs;
}

/** Moves a node without taking it out of the document, where the browser can: what plays or scrolls in it goes on. */
export function move(/** @type {Shown} */ parent, /** @type {Shown} */ node, /** @type {Shown} */ before) {
	if (parent.moveBefore && parent.isConnected && node.isConnected) parent.moveBefore(node, before);
	else parent.insertBefore(node, before);
}

/**
 * Puts a copy of a rendered node into the page. It never moves the focus: what asks for it does not at that moment.
 * @param {Fresh} fresh
 * @param {boolean} deep
 * @param {(copy: any) => void} put
 */
export function insert(fresh, deep, put) {
	const copy = document.importNode(fresh, deep);
	const eager = copy.nodeType === 1 ? all(copy, "[autofocus]") : [];
	for (const element of eager) element.removeAttribute("autofocus");
	put(copy);
	for (const element of eager) element.setAttribute("autofocus", "");
	return copy;
}

/**
 * Makes the children of a shown element those of a rendered one.
 * @param {Element} root
 * @param {Element} freshRoot
 * @param {(a: Node, b: Node) => boolean} alike whether two nodes are equal in all that counts
 * @param {(shown: Shown, fresh: Fresh, children: (shown: Shown, fresh: Fresh) => void) => void} become makes an element below
 *     them a rendered one, whose children are made by what it is given
 */
export function pair(root, freshRoot, alike, become) {
	/** @type {Map<Fresh, Shown>} elements of one identity */
	const twins = new Map();
	/** @type {Map<Fresh, Shown>} what holds them */
	const homes = new Map();
	const after = identities(freshRoot);
	for (const [key, shown] of identities(root)) {
		const fresh = after.get(key);
		if (shown && fresh && shown.localName === fresh.localName) twins.set(fresh, shown);
	}
	const taken = new Set(twins.values());
	for (let [fresh, shown] of twins) {
		while ((fresh = fresh.parentNode) && (shown = shown.parentNode) && fresh !== freshRoot && shown !== root) {
			if (homes.has(fresh) || kind(fresh) !== kind(shown) || keyOf(fresh)) break;
			homes.set(fresh, shown);
		}
	}
	/** @type {Set<Shown>} */
	const placed = new Set();
	/** @type {Set<Shown>} */
	const left = new Set();

	/** @param {any} node @param {Map<any, any> | Set<any>} these whether it is one of these or holds one */
	const holds = (node, these) => these.has(node) || (node.nodeType === 1 && [...node.querySelectorAll(KEYED)].some((part) => these.has(part)));

	/** @param {Shown[]} olds @param {Fresh[]} news @returns {Map<Fresh, Shown>} */
	function match(olds, news) {
		const pairs = new Map();
		const free = new Set(olds.filter((old) => !taken.has(old)));
		for (const fresh of news) {
			const home = homes.get(fresh);
			if (twins.has(fresh)) pairs.set(fresh, twins.get(fresh));
			else if (free.delete(home)) pairs.set(fresh, home);
		}
		const a = news.filter((fresh) => !pairs.has(fresh));
		const b = [...free];
		while (a.length && b.length && alike(b[0], a[0])) pairs.set(a.shift(), b.shift());
		while (a.length && b.length && alike(b.at(-1), a.at(-1))) pairs.set(a.pop(), b.pop());
		for (const [i, j] of common(a.slice(0, MANY).map(kind), b.slice(0, MANY).map(kind))) pairs.set(a[i], b[j]);
		return pairs;
	}

	/** @param {Shown} parent @param {Fresh} fresh */
	function children(parent, fresh) {
		const olds = [...parent.childNodes];
		const news = [...fresh.childNodes];
		const pairs = match(olds, news);
		const places = new Map(olds.map((old, i) => [old, i]));
		const stay = growing(news.map((node) => places.get(pairs.get(node)) ?? -1));
		const born = new Set();
		let next = /** @type {Shown} */ (null);
		for (let i = news.length; i--; ) {
			let shown = pairs.get(news[i]);
			if (!shown) {
				const hollow = holds(news[i], twins);
				shown = insert(news[i], !hollow, (copy) => parent.insertBefore(copy, next));
				if (hollow) pairs.set(news[i], shown);
				born.add(shown);
			} else if (!stay.has(i)) move(parent, shown, next);
			placed.add(shown);
			next = shown;
		}
		for (const old of olds) {
			if (placed.has(old)) continue;
			if (holds(old, taken)) left.add(old); // what is in it may have its place elsewhere
			else old.remove();
		}
		for (const [node, shown] of pairs) {
			if (born.has(shown)) children(shown, node);
			else if (shown.nodeType === 1) become(shown, node, children);
			else if (shown.nodeValue !== node.nodeValue) shown.nodeValue = node.nodeValue;
		}
	}

	children(root, freshRoot);
	for (const node of left) if (!placed.has(node)) node.remove();
}
