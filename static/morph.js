// Turning what is shown into what was rendered, without taking anything out of the user's hands.

import { entered, isDraft, isField, isUsers, keep, restore } from "./fields.js";
import { attribute, inert } from "./html.js";
import { all, insert, kind, pair } from "./pair.js";

const SCOPE = "lockstep-scope";
const CARRIED = "input[name=_ls_key],[data-ls-outcome]"; // in a form on the page, never in a pushed one

/** Attributes that belong to the page and not to a rendering, by selector: an update leaves them as they are. */
const SPARED = [
	[SCOPE, "status"],
	["form[data-ls-form]", "aria-busy"],
	["details,dialog", "open"],
	["[data-ls-focus]", "tabindex"],
	["[data-ls-focus]", "data-ls-focus"],
];

/** Attributes that two equal renderings may differ in. */
const LOOSE = [...SPARED, ["[data-ls-token]", "data-ls-token"], [SCOPE, "token"], [SCOPE, "revision"]];

/** @param {Element} element a copy of it with all of that left out, in a box */
function bare(element) {
	const box = inert.createElement("div");
	box.append(inert.importNode(element, true));
	for (const part of box.querySelectorAll(CARRIED)) part.remove();
	for (const part of box.querySelectorAll("[data-ls-keep]")) part.replaceWith(inert.createElement(part.localName));
	for (const [selector, name] of LOOSE) for (const part of box.querySelectorAll(selector)) part.removeAttribute(name);
	box.normalize();
	return box;
}

const hasTemplate = (/** @type {any} */ node) => node.localName === "template" || node.querySelector?.("template");

/** @param {any} a @param {any} b equal, contents of templates included, which isEqualNode leaves out */
const alike = (a, b) => a.isEqualNode(b) && (!hasTemplate(a) || a.outerHTML === b.outerHTML);

const QUIRKS = [CARRIED, "[data-ls-keep]", ...LOOSE.map(([selector]) => selector)].join();

/** Whether there is nothing to do. @param {Element} shown @param {Element} fresh */
export const same = (shown, fresh) =>
	alike(shown, fresh) || ([shown, fresh].some((root) => all(root, QUIRKS)[0]) && alike(bare(shown), bare(fresh)));

/** Brings the outcome and the key that a form shows into its new rendering, at the same place. */
function carry(/** @type {Element} */ shown, /** @type {Element} */ fresh) {
	for (const form of all(fresh, "form[data-ls-form]")) {
		const was = all(shown, `form[data-ls-form="${CSS.escape(attribute(form, "data-ls-form"))}"]`)[0];
		const isKey = (/** @type {Element} */ part) => part.localName === "input";
		const has = [...form.querySelectorAll(CARRIED)].map(isKey);
		for (const part of was?.querySelectorAll(CARRIED) ?? []) {
			if (has.includes(isKey(part))) continue;
			const place = part.parentNode === was ? [...was.childNodes].indexOf(part) : 0;
			const copy = inert.importNode(part, true);
			form.insertBefore(copy, form.childNodes[place] ?? null);
		}
	}
}

/** @param {Element} element @param {string} name */
const isSpared = (element, name) => SPARED.some(([selector, spared]) => spared === name && element.matches(selector));

/** @param {Element} shown @param {Element} fresh @param {(name: string) => boolean} isUsers */
function setAttributes(shown, fresh, isUsers) {
	for (const { namespaceURI, name, value } of fresh.attributes) {
		if (shown.getAttribute(name) !== value && !isSpared(shown, name) && !isUsers(name)) shown.setAttributeNS(namespaceURI, name, value);
	}
	for (const { name } of [...shown.attributes]) {
		if (!fresh.hasAttribute(name) && !isSpared(shown, name) && !isUsers(name)) shown.removeAttribute(name);
	}
}

/** Gives the focus to the nearest element that can have it, if only for now. @param {Element | null} element */
function focusNear(element) {
	for (; element && element !== document.documentElement; element = element.parentElement) {
		const place = /** @type {HTMLElement} */ (element);
		const lent = !place.hasAttribute("tabindex");
		const giveBack = () => ["data-ls-focus", "tabindex"].forEach((name) => place.removeAttribute(name));
		if (lent) {
			place.tabIndex = -1;
			place.setAttribute("data-ls-focus", "");
		}
		place.focus({ preventScroll: true });
		if (document.activeElement === place) {
			if (lent) place.addEventListener("blur", giveBack, { once: true });
			return;
		}
		if (lent) giveBack();
	}
}

/**
 * Runs a change below an element and gives the focus back if the change took it.
 * @param {Element} shown
 * @param {() => Element} change returns what is shown then
 */
export function keepingFocus(shown, change) {
	const active = /** @type {any} */ (document.activeElement);
	if (!active || !shown.contains(active)) return change();
	const path = [];
	for (let element = active.parentElement; element; element = element.parentElement) path.push(element);
	const { selectionStart, selectionEnd, selectionDirection } = active;
	const now = change();
	if (document.activeElement === active) return now;
	if (active.isConnected) {
		active.focus({ preventScroll: true });
		if (selectionStart != null) active.setSelectionRange(selectionStart, selectionEnd, selectionDirection);
	} else focusNear([...path.filter((element) => now.contains(element)), now].find((element) => element.isConnected));
	return now;
}

/**
 * Makes an element what it was rendered as anew.
 * @param {Element} shown
 * @param {Element} fresh is used up
 * @returns {Element} the element that is shown now: the same, unless it became another kind of element
 */
export function morph(shown, fresh) {
	carry(shown, fresh);
	return keepingFocus(shown, () => {
		if (shown.localName !== fresh.localName || (attribute(shown, "id") && attribute(shown, "id") !== attribute(fresh, "id"))) {
			return insert(fresh, true, (copy) => shown.replaceWith(copy));
		}
		/** @type {Set<Element>} selects that say what the user chose */
		const chosen = new Set();
		/** Goes down to the element that holds all that differs. @param {any} shown @param {any} fresh */
		function descend(shown, fresh) {
			const olds = [...shown.childNodes];
			const news = [...fresh.childNodes];
			const [old, more] = olds.filter((old, i) => !news[i] || !alike(old, news[i]));
			const now = news[olds.indexOf(old)];
			if (more || news[olds.length] || !now?.localName || kind(old) !== kind(now)) pair(shown, fresh, alike, become);
			else become(old, now);
		}
		/** @param {any} shown @param {any} fresh */
		function become(shown, fresh, children = descend) {
			if (alike(shown, fresh) || isDraft(shown)) return;
			if (shown.hasAttribute("data-ls-keep") && fresh.hasAttribute("data-ls-keep")) return;
			const field = isField(shown);
			const user = field && isUsers(shown, fresh);
			const value = user && entered(shown);
			if (user) chosen.add(shown);
			setAttributes(shown, fresh, (name) =>
				shown.localName === "input" ? user && /^(value|checked)$/.test(name) : name === "selected" && chosen.has(shown.closest("select")),
			);
			if (shown.localName === "template") children(shown.content, fresh.content);
			else if (!user || shown.localName !== "textarea") children(shown, fresh); // its text is its default
			if (user) keep(shown, value, fresh);
			else if (field) restore(shown, entered(fresh));
		}
		become(shown, fresh);
		return shown;
	});
}
