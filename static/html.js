// Parsing HTML without running or loading anything in it.

/** @type {{createHTML(s: string): string} | null | undefined} made at the first use: a second copy never parses */
let policy;

/** @param {string} html */
function trusted(html) {
	if (policy === undefined) {
		policy = null;
		try {
			policy = /** @type {any} */ (globalThis).trustedTypes.createPolicy("lockstep", { createHTML: (/** @type {string} */ s) => s });
		} catch {} // no such thing here, or the page's policy does not know the name: where it insists, parsing fails and says so
	}
	return policy ? policy.createHTML(html) : html;
}

/**
 * The root element of a fragment, which may be any element, rows and list items included.
 * @param {string} html
 * @returns {Element | null}
 */
export function parse(html) {
	const template = document.createElement("template");
	template.innerHTML = trusted(html);
	return template.content.firstElementChild;
}

/** @param {string} html a whole page */
export const parsePage = (html) => new DOMParser().parseFromString(trusted(html), "text/html");

/** A document in which nothing runs, loads or is upgraded, for copies. */
export const inert = document.implementation.createHTMLDocument("");

/**
 * The parts of a scope that are its own and not a nested scope's.
 * @param {Element} scope
 * @param {string} selector
 */
export const own = (scope, selector) => [...scope.querySelectorAll(selector)].filter((part) => part.closest("lockstep-scope") === scope);

/** @param {Element} element @param {string} name @returns {string} an attribute, "" where there is none */
export const attribute = (element, name) => element.getAttribute(name) ?? "";
