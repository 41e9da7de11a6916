// New tokens for old ones, when the socket cannot help.

import { attribute, own, parsePage } from "./html.js";
import { base } from "./socket.js";

const KEPT = 10000; // ms for which a fetched page serves all scopes that ask

/**
 * One fresh token for all of these, or why there is none.
 * @param {string[]} tokens a scope's, then its fragments'
 * @returns {Promise<{token?: string, reason?: string}>} rejected if there was no answer that counts
 */
export async function renewTokens(tokens) {
	const response = await fetch(new URL("refresh", base), {
		method: "POST",
		headers: { "Content-Type": "application/json" },
		body: JSON.stringify({ tokens }),
	});
	if (response.status >= 500) throw new Error(response.statusText);
	return response.json();
}

/** @type {Promise<Element[]> | undefined} the scopes of the page's fresh copy that nobody has taken yet */
let copy;

async function fetchPage() {
	const response = await fetch(location.href, {
		headers: { Accept: "text/html" },
		cache: "no-store",
		redirect: "manual", // a redirect means that this is not the page any more
	});
	if (!response.ok) throw new Error(response.statusText);
	return [...parsePage(await response.text()).querySelectorAll("lockstep-scope")];
}

/**
 * The first scope of the page's fresh copy that shows one of these targets and is not taken. The page is fetched once,
 * however many ask.
 * @param {Set<string>} names
 * @returns {Promise<Element | null>}
 */
export async function findScope(names) {
	if (!copy) {
		copy = fetchPage();
		setTimeout(() => (copy = undefined), KEPT);
	}
	const scopes = await copy;
	const i = scopes.findIndex((scope) => own(scope, "[data-ls]").some((target) => names.has(attribute(target, "data-ls"))));
	return i < 0 ? null : scopes.splice(i, 1)[0];
}
