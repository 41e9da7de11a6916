// The little of a browser that sockets and scopes need, and a clock that only tests move. Import it before the client.

import { readFileSync } from "node:fs";

const data = new URL("../../realtime/wire/testdata/", import.meta.url);

/** @param {string} name of a golden frame, which the hub's tests read too */
export const golden = (name) => readFileSync(new URL(`frames/${name}.json`, data), "utf8").trimEnd();
export const protocol = JSON.parse(readFileSync(new URL("protocol.json", data), "utf8"));

let now = 0;
let jobs = [];
globalThis.setTimeout = (run, ms = 0) => {
	const job = { run, at: now + ms };
	jobs.push(job);
	return job;
};
globalThis.clearTimeout = (job) => (jobs = jobs.filter((other) => other !== job));
Object.defineProperty(performance, "now", { value: () => now });

/** Lets what was already decided happen. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));

/** @param {number} ms that go by */
export async function pass(ms) {
	for (const end = now + ms; ; ) {
		const job = jobs.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
		if (!job) {
			now = end;
			return settle();
		}
		jobs = jobs.filter((other) => other !== job);
		now = Math.max(now, job.at);
		job.run();
		await settle();
	}
}

/** Every socket that was opened, oldest first. */
export const sockets = [];
globalThis.WebSocket = class {
	readyState = 0;
	sent = [];
	constructor(url, protocols) {
		Object.assign(this, { url, protocols });
		sockets.push(this);
	}
	send(text) {
		this.sent.push(text);
	}
	close() {
		this.readyState = 3;
	}
	open() {
		this.readyState = 1;
		this.onopen();
		this.hear(golden("server-hello"));
	}
	hear(text) {
		this.onmessage({ data: text });
	}
	end(code, reason) {
		this.readyState = 3;
		this.onclose({ code, reason });
	}
};

/** Every request that was made; each is answered with what a test puts into answers. */
export const requests = [];
export const answers = [];
globalThis.fetch = async (url, options = {}) => {
	requests.push(`${options.method ?? "GET"} ${url}`);
	return answers.shift() ?? Promise.reject(new TypeError("no network"));
};

/** An element: attributes, parts, and what it was asked to show. */
globalThis.HTMLElement = class extends EventTarget {
	isConnected = false;
	attributes = new Map();
	parts = [];
	shown = [];
	parentScope = null;
	localName = "b";
	getAttribute = (name) => this.attributes.get(name) ?? null;
	setAttribute = (name, value) => this.attributes.set(name, value);
	removeAttribute = (name) => this.attributes.delete(name);
	hasAttribute = (name) => this.attributes.has(name);
	querySelector = () => null;
	contains = (other) => this.parts.includes(other);
	closest = () => this.parentScope;
	isEqualNode = (fresh) => (this.shown.push(fresh.html), true); // nothing is changed by what is equal
	querySelectorAll(selector) {
		const [, name, value] = /^\[([\w-]+)(?:="(.*)")?\]$/.exec(selector) ?? [];
		return this.parts.filter((part) => part.hasAttribute(name) && (value === undefined || part.getAttribute(name) === value));
	}
};
globalThis.Element = HTMLElement;
globalThis.CSS = { escape: (text) => text };

export const loads = { count: 0 };
globalThis.location = { href: "https://shop.example/cart", reload: () => loads.count++ };
const memory = new Map();
globalThis.sessionStorage = {
	getItem: (key) => memory.get(key) ?? null,
	setItem: (key, value) => memory.set(key, value),
	removeItem: (key) => memory.delete(key),
};
Object.defineProperty(globalThis, "navigator", { value: { onLine: true } });
globalThis.document = Object.assign(new EventTarget(), {
	documentElement: { dataset: {} },
	implementation: { createHTMLDocument: () => ({}) },
	querySelectorAll: () => [],
	createElement: () => ({
		set innerHTML(html) {
			this.content = { firstElementChild: Object.assign(new HTMLElement(), { html }) };
		},
	}),
});
globalThis.addEventListener = () => {};
globalThis.reportError = (error) => {
	throw error;
};
Math.random = () => 0.5;

/**
 * Puts a scope into the page.
 * @param {new () => any} Scope
 * @param {string[]} targets
 * @param {string[]} tokens of fragments inside it
 */
export async function show(Scope, targets, tokens = []) {
	const scope = new Scope();
	scope.localName = "lockstep-scope";
	Object.entries({ token: "0a1b2c3d.TOKEN", instance: "0198c1d2", revision: "41" }).forEach(([k, v]) => scope.setAttribute(k, v));
	for (const [name, value] of [...targets.map((k) => ["data-ls", k]), ...tokens.map((k) => ["data-ls-token", k])]) {
		const part = Object.assign(new HTMLElement(), { isConnected: true, parentScope: scope });
		part.setAttribute(name, value);
		scope.parts.push(part);
	}
	scope.isConnected = true;
	scope.connectedCallback();
	await settle();
	return scope;
}

export async function hide(scope) {
	scope.isConnected = false;
	scope.disconnectedCallback();
	await settle();
}
