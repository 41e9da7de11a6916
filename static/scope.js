// <lockstep-scope>: one actor's part of the page, and what of it is shown at which revision.

import { announce } from "./events.js";
import { attribute, inert, own, parse } from "./html.js";
import { isHeld } from "./hold.js";
import { keepingFocus, morph, same } from "./morph.js";
import { all, insert, move } from "./pair.js";
import { findScope, renewTokens } from "./refresh.js";
import { backoff, flush, idle, interrupted, join, leave, subscribe } from "./socket.js";

const TARGET = "data-ls";
const TOKEN = "data-ls-token";
let count = 0;

/** @param {Element} root @returns {Iterable<Element>} */
const targetsBelow = (root) => root.querySelectorAll(`[${TARGET}]`);
/** @param {Element} element @returns {string} */
const nameOf = (element) => attribute(element, TARGET);
/** @param {Element} scope the revision that it was rendered at */
const revisionOf = (scope) => BigInt(attribute(scope, "revision"));
/** @param {any} template @returns {string} the JSON of a data component */
const jsonOf = (template) => template.content.textContent;
/** @param {Element} root @returns {Map<Element, string>} */
const dataIn = (root) => new Map(all(root, "[data-ls-data]").map((element) => [element, jsonOf(element)]));

const tools = { insert, keepingFocus, morph, move, parse, same };
let lists = true; // patches can be had
/** @type {typeof import("./list.js").patchList | undefined} */
let patchList;
let loading = false;

/** Loads what applies patches, which a page without a list need not. @returns {boolean} whether it is not there yet */
function missing() {
	if (!loading) {
		loading = true;
		import("./list.js").then((list) => (patchList = list.patchList), () => (lists = false)).then(flush);
	}
	return !patchList && lists;
}

/** @typedef {{i: string, r: string, k: string, h: string, b?: string, x?: string[], d?: any[]}} Live a fragment, or with b a patch */

export class Scope extends HTMLElement {
	static observedAttributes = ["token", "status"];

	s = "s" + ++count; // its name on the wire
	n = 0; // its newest subscribe
	answered = false; // on this connection
	ended = ""; // "denied" or "gone": not asked for any more
	/** @type {string | undefined} the incarnation that is shown */
	#instance;
	/** @type {bigint} the mark of every target that has none of its own */
	#base = 0n;
	/** @type {Map<string, bigint>} the revision that each target shows */
	#marks = new Map();
	/** @type {Map<string, {revision: bigint, html: string, force: boolean, patch?: Live}>} the newest of what has to wait */
	#held = new Map();
	/** @type {Set<string>} the targets that the server sends updates of */
	#known = new Set();
	#token = ""; // that of the newest subscribe
	#joined = false;
	#touched = false; // it shows something else than what it was rendered with
	#followed = false; // there was an answer for this token, so live frames of its instance are for it
	renewing = false; // a new token is on its way; what gets it subscribes
	#renewed = false; // a new token was asked for, and there was no answer since
	#tries = 0;

	connectedCallback() {
		if (this.#instance === undefined) this.#stamp();
		queueMicrotask(() => this.#settle());
	}

	disconnectedCallback() {
		queueMicrotask(() => this.#settle());
	}

	connectedMoveCallback() {} // its presence keeps a move from being a removal

	/** @param {string} name @param {string | null} before @param {string | null} now */
	attributeChangedCallback(name, before, now) {
		if (name === "token" ? before : now === null) queueMicrotask(() => this.#switch());
	}

	/** Joins or leaves, if it has stayed where it is now: a move within one task is neither. */
	#settle() {
		if (this.isConnected === this.#joined) return;
		this.#joined = this.isConnected;
		this.#reset();
		if (this.#joined) join(this);
		else leave(this);
	}

	#reset() {
		this.ended = "";
		this.#renewed = false;
		this.#tries = 0;
		this.#held.clear();
		if (this.#joined) this.#show("connecting");
	}

	/** Takes the plain stamp of the HTML it shows. */
	#stamp() {
		this.#instance = attribute(this, "instance");
		this.#base = revisionOf(this);
		this.#marks.clear();
		this.#followed = false;
	}

	/** Follows a token that something else than we wrote. */
	#switch() {
		const token = attribute(this, "token");
		const rewritten = !this.hasAttribute("status"); // by somebody else's morph, and so with HTML of any age
		if (!this.#joined || (token === this.#token && !rewritten)) return;
		if (!rewritten && this.answered && this.#instance && this.#instance === attribute(this, "instance") && this.#names().every((k) => this.#known.has(k))) {
			this.#token = token; // rendered anew, and nothing in it that the subscription does not have already
			return;
		}
		this.#stamp();
		this.#touched = true;
		this.#reset();
		subscribe(this);
	}

	/** What a subscribe says of this scope. */
	ask() {
		this.#token = attribute(this, "token");
		for (const name of this.#names()) this.#known.add(name);
		return { token: this.#token, more: this.#more(), first: !this.#touched, lists };
	}

	#more() {
		return [...new Set(own(this, `[${TOKEN}]`).map((element) => attribute(element, TOKEN)))];
	}

	#names() {
		return own(this, `[${TARGET}]`).map(nameOf);
	}

	/** @param {string} name */
	#targets(name) {
		return own(this, `[${TARGET}="${CSS.escape(name)}"]`);
	}

	/** @param {string} name */
	#mark(name) {
		return this.#marks.get(name) ?? this.#base;
	}

	/** @param {string} status */
	#show(status) {
		if (this.getAttribute("status") === status) return;
		this.setAttribute("status", status);
		announce(this, "status", { status }, { bubbles: false }); // the page's own event of that name is another one
	}

	/** The grace time after an interruption is over. */
	late() {
		if (!this.answered && !this.ended && this.getAttribute("status") === "connected") this.#show("reconnecting");
	}

	/** @param {string} status @param {number} [again] ms after which it may be asked for once more */
	end(status, again) {
		this.ended = status;
		this.answered = this.#followed = false;
		this.#held.clear();
		this.#show(status);
		idle();
		if (again) this.#askLater(again);
	}

	/** @param {number} wait */
	#askLater(wait) {
		const { n } = this;
		setTimeout(() => {
			if (!this.#joined || this.n !== n || this.answered) return; // something else was quicker
			this.ended = "";
			subscribe(this);
		}, wait);
	}

	/** @param {{reason?: string, retry?: boolean, after?: number}} frame */
	refused({ reason, retry, after = 0 }) {
		this.answered = false;
		if ((reason === "expired" || reason === "unknown_key") && !this.#renewed) {
			this.#renewed = true;
			if (reason === "expired") this.renew();
			else this.#rejoin();
		} else if (retry) {
			interrupted();
			this.#askLater(after ? after * (1 + Math.random() / 2) : backoff(this.#tries++));
		} else if (reason === "limit") this.end("denied", 60000);
		else this.end(reason === "denied" ? "denied" : "gone");
	}

	/**
	 * What a request has brought: null if nothing, undefined if something else was quicker.
	 * @template T
	 * @param {Promise<T>} request
	 */
	async #hear(request) {
		const { n } = this;
		this.renewing = true;
		const answer = await request.catch(() => null);
		this.renewing = false;
		return this.n === n && this.#joined ? answer : undefined;
	}

	/** Exchanges its tokens for one fresh token, and subscribes with that. */
	async renew() {
		const answer = await this.#hear(renewTokens([attribute(this, "token"), ...this.#more()]));
		if (answer === undefined) return;
		if (!answer) {
			this.#renewed = false; // nobody has said no
			this.refused({ retry: true });
		} else if (answer.token) {
			this.setAttribute("token", (this.#token = answer.token)); // which is no reason to subscribe twice
			for (const element of own(this, `[${TOKEN}]`)) element.removeAttribute(TOKEN);
			subscribe(this);
		} else {
			this.#renewed = true;
			this.refused({ reason: answer.reason ?? "denied" });
		}
	}

	/** Takes its place in a fresh copy of the page: the only way on when the server has forgotten the key. */
	async #rejoin() {
		const fresh = await this.#hear(findScope(new Set(this.#names())));
		if (fresh === undefined) return;
		if (!fresh) return this.end("gone");
		this.#token = attribute(fresh, "token");
		if (isHeld(this)) this.setAttribute("token", this.#token);
		else {
			this.#telling(this, attribute(fresh, "revision"), () => morph(this, fresh));
			this.#stamp();
		}
		this.#touched = true;
		subscribe(this);
	}

	/** @param {{i: string, r: string, f?: {k: string, r?: string, h: string}[]}} frame the answer to its newest subscribe */
	answer({ i, r, f = [] }) {
		const revision = BigInt(r);
		const other = i !== this.#instance;
		this.answered = this.#followed = this.#touched = true;
		this.#renewed = false;
		this.#tries = 0;
		this.ended = "";
		this.#instance = i;
		if (other) this.#held.clear();
		// Whatever lies above the answer belongs to another incarnation, or the database has lost it.
		const cap = other ? 0n : revision;
		for (const [name, mark] of this.#marks) if (mark > cap) this.#marks.set(name, cap);
		if (this.#base > cap) this.#base = cap;
		for (const { k, r = revision, h } of f) this.#put(k, BigInt(r), h, true);
		this.#show("connected");
	}

	/** @param {Live} frame of any scope */
	live(frame) {
		const { i, r, k, h, b } = frame;
		if (this.#followed && i === this.#instance) this.#put(k, BigInt(r), h, false, b ? frame : undefined);
	}

	/** Asks for everything anew: a list is not what a patch was made for. */
	#resync() {
		this.#touched = true;
		if (this.answered) subscribe(this);
	}

	/** @param {string} name @returns {any} the newest value of a data component, or undefined */
	data(name) {
		const [element] = own(this, `[data-ls-data="${CSS.escape(name)}"]`);
		return element && JSON.parse(jsonOf(element));
	}

	/**
	 * Changes what is shown, and tells of data that is another then.
	 * @param {Element} target
	 * @param {unknown} revision
	 * @param {() => Element} change
	 */
	#telling(target, revision, change) {
		const before = dataIn(target);
		const shown = change();
		for (const [element, text] of dataIn(shown)) {
			if (before.get(element) === text) continue;
			announce(element, "data", { name: element.getAttribute("data-ls-data"), value: JSON.parse(text), revision: String(revision) });
		}
	}

	flush() {
		for (const [name, { revision, html, force, patch }] of [...this.#held]) {
			this.#held.delete(name);
			this.#put(name, revision, html, force, patch);
		}
	}

	/** @param {string} name @param {bigint} revision @param {string} html @param {boolean} force whatever is shown @param {Live} [patch] */
	#put(name, revision, html, force, patch) {
		// One of the mark's own revision counts: a parent's fragment may have set the mark, and not shown it everywhere.
		if (!force && revision < this.#mark(name) + (patch ? 1n : 0n)) return;
		const targets = this.#targets(name);
		if (!targets.length) {
			// Another scope of the same actor may be the one that shows it.
			if (this.#known.has(name)) announce(this, "missing", { target: name });
		} else if (targets.some(isHeld) || (patch && missing())) {
			const held = this.#held.get(name);
			if (force || !held || revision > held.revision) {
				this.#held.set(name, { revision, html, force: force || !!held?.force, patch });
			}
		} else if (patch && (!patchList || this.#mark(name) !== BigInt(patch.b ?? 0))) this.#resync();
		else {
			this.#held.delete(name);
			try {
				for (const target of targets) this.#update(target, name, revision, patch ?? parse(html)); // which is used up
			} catch (error) {
				reportError(error); // the other targets are no worse for it
			}
		}
	}

	/** @param {Element} target @param {string} name @param {bigint} revision @param {any} fresh its HTML, parsed, or a patch */
	#update(target, name, revision, fresh) {
		if (!fresh || !target.isConnected) return; // the application may remove one while it hears of another
		const whole = fresh instanceof Element;
		const spared = new Set();
		if (whole) this.#spare(target, fresh, revision, spared);
		if (whole ? same(target, fresh) : !fresh.x.length && !fresh.d.length) return this.#advance(whole ? [target] : [], name, revision, spared);
		const detail = { target: name, revision: String(revision) };
		if (!announce(target, "before-update", detail, { cancelable: true })) return;
		/** @type {Element[] | undefined} */
		let changed;
		let shown = target;
		this.#telling(target, revision, () => {
			if (whole) changed = [(shown = morph(target, fresh))];
			else changed = patchList?.(target, fresh, { ...tools, spare: (item, part) => this.#spare(item, part, revision, spared) });
			if (changed) this.#advance(changed, name, revision, spared);
			return shown;
		});
		if (!changed) return this.#resync();
		announce(shown, "update", detail);
	}

	/**
	 * Puts what is shown now into a fragment wherever the fragment is older: a parent that was rendered before its
	 * child must not take the child back.
	 * @param {Element} target
	 * @param {Element} fresh
	 * @param {bigint} revision
	 * @param {Set<string>} spared what was, by scope and name, is added
	 */
	#spare(target, fresh, revision, spared) {
		const shown = /** @type {Scope[]} */ ([...target.querySelectorAll(this.localName)]);
		/** @type {Map<Element, Scope | undefined>} */
		const pairs = new Map();
		for (const scope of fresh.querySelectorAll(this.localName)) {
			const i = shown.findIndex((other) => other.#instance && other.#instance === scope.getAttribute("instance"));
			pairs.set(scope, i < 0 ? undefined : shown.splice(i, 1)[0]);
		}
		for (const part of targetsBelow(fresh)) {
			const scope = part.closest(this.localName);
			const owner = scope ? pairs.get(scope) : this;
			const name = nameOf(part);
			if (!owner || !fresh.contains(part)) continue;
			if (owner.#mark(name) <= (scope ? revisionOf(scope) : revision)) continue;
			const newer = owner.#targets(name)[0];
			if (!newer) continue;
			part.replaceWith(inert.importNode(newer, true));
			spared.add(owner.s + " " + name);
		}
	}

	/** Sets the marks of a target and of what it brought. */
	#advance(/** @type {Element[]} */ changed, /** @type {string} */ name, /** @type {bigint} */ revision, /** @type {Set<any>} */ spared) {
		this.#touched = true;
		this.#marks.set(name, revision);
		this.#known.add(name);
		for (const part of changed.flatMap((element) => [...targetsBelow(element)])) {
			const owner = /** @type {Scope | null} */ (part.closest(this.localName));
			const k = nameOf(part);
			if (!owner || spared.has(owner.s + " " + k)) continue;
			if (owner === this) {
				this.#marks.set(k, revision);
				this.#known.add(k);
			} else if (owner.#instance === owner.getAttribute("instance")) {
				owner.#marks.set(k, revisionOf(owner));
			}
		}
	}
}
