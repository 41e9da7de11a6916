// What the user has entered but not sent. An update may change everything around a field; it never takes this away.

import { announce } from "./events.js";

/** @typedef {any} Field an input, textarea or select, each of which has other properties */

/** @type {WeakMap<Field, Field>} the newest rendering of a field that had the focus but no edit, due when it is left */
const due = new WeakMap();
/** @type {WeakSet<Element>} contenteditable elements that the user has typed in */
const drafts = new WeakSet();

/** @param {Node} node @returns {node is Field} */
export const isField = (node) => /^(INPUT|TEXTAREA|SELECT)$/.test(node.nodeName);

/** @param {Element} element */
const isTick = (element) => /^(checkbox|radio)$/.test(element.getAttribute("type") ?? "");

/**
 * A copy of the field as it would be if nobody had touched it, as the browser words it: "" is "#000000" in a colour field.
 * @param {any} field
 * @returns {any}
 */
function pristine(field) {
	const form = document.createElement("form"); // in a document without a window, forms are not reset
	form.append(field.cloneNode(true));
	resetForm(form);
	return form.firstChild;
}

/** `form.reset` may be hidden by a control of that name. @param {HTMLFormElement} form */
export const resetForm = (form) => HTMLFormElement.prototype.reset.call(form);

/**
 * Whether a field says something else than the server rendered.
 * @param {any} field
 * @returns {boolean}
 */
const isEdited = (field) => String(entered(field)) !== String(entered(pristine(field))) || !!field.validity?.badInput;

/** @param {any} field @returns {any[]} a radio button's group, or the field */
function group(field) {
	if (field.type !== "radio" || !field.name) return [field];
	const all = field.getRootNode().querySelectorAll(`input[type=radio][name="${CSS.escape(field.name)}"]`);
	return [...all].filter((other) => other.form === field.form);
}

/** Whether two renderings are of one field. @param {any} a @param {any} b */
const isSameField = (a, b) => a.name === b.name && a.type === b.type && a.type !== "hidden";

/**
 * Whether what the field says is the user's: it was edited or is being edited.
 * @param {any} field
 * @param {any} fresh its new rendering
 */
export const isUsers = (field, fresh) =>
	isSameField(field, fresh) && (group(field).some(isEdited) || (field === document.activeElement && !isTick(field)));

/** Whether an element is text that the user is writing, or has written. */
export const isDraft = (/** @type {any} */ element) =>
	element.isContentEditable && (drafts.has(element) || element.contains(document.activeElement));

/** What a field says, to be put back with restore. */
export const entered = (/** @type {any} */ field) =>
	field.localName === "select"
		? [...field.selectedOptions].map((option) => option.value)
		: isTick(field)
			? field.checked
			: field.value;

/** @param {any} field @param {any} value */
export function restore(field, value) {
	if (field.localName === "select") {
		const found = [...field.options].filter((option) => value.includes(option.value));
		if (found.length) for (const option of field.options) option.selected = found.includes(option);
	} else if (isTick(field)) field.checked = value;
	else if (field.value !== value) field.value = value;
}

/**
 * Gives a field its new default and leaves what it says.
 * @param {any} field
 * @param {any} fresh
 */
function setDefault(field, fresh) {
	const value = entered(field);
	if (field.localName === "select") {
		[...field.options].forEach((option, i) => (option.defaultSelected = !!fresh.options[i]?.defaultSelected));
	} else if (isTick(field)) field.defaultChecked = fresh.defaultChecked;
	else if (field.localName === "textarea" || fresh.hasAttribute("value")) {
		if (field.defaultValue !== fresh.defaultValue) field.defaultValue = fresh.defaultValue;
	} else field.removeAttribute("value");
	if (field.type !== "file") restore(field, value);
}

/**
 * Ends the update of a field that is the user's. If the server changed its mind about the field as well, the
 * application hears of it.
 * @param {any} field
 * @param {any} value what it said before the update
 * @param {any} fresh
 */
export function keep(field, value, fresh) {
	if (field === document.activeElement && !isTick(field) && !isEdited(field)) {
		due.set(field, fresh);
		return;
	}
	const before = String(entered(pristine(field)));
	const now = entered(fresh);
	setDefault(field, fresh);
	if (field.localName === "select") restore(field, value);
	if (![before, String(value)].includes(String(now))) announce(field, "conflict", { value: now });
}

/** @param {ParentNode} form `form.elements` may be hidden by a control of that name @returns {Field[]} */
export const fieldsOf = (form) => [...form.querySelectorAll("input,textarea,select")];

/** Whether the page holds anything that the user has entered but not sent. */
export const hasUnsaved = () =>
	fieldsOf(document).some(isEdited) || [...document.querySelectorAll("[contenteditable]")].some((element) => drafts.has(element));

/**
 * Makes a refused form's values what they are: not the server's defaults but entries that are still the user's, which
 * the next push leaves alone and a reset takes away.
 * @param {Element} shown
 * @param {Element} fresh
 */
export function keepDefaults(shown, fresh) {
	const fields = fieldsOf(shown);
	for (const field of fieldsOf(fresh)) {
		const i = fields.findIndex((f) => isSameField(f, field) && (!isTick(f) || f.value === field.value));
		if (i >= 0) setDefault(field, fields.splice(i, 1)[0]);
	}
}

/** Follows where the user writes. Called once. */
export function watchFields() {
	addEventListener("input", ({ target }) => {
		const host = target instanceof Element && target.closest("[contenteditable]");
		if (host) drafts.add(host);
	}, true);
	addEventListener("focusout", ({ target }) => {
		const field = /** @type {any} */ (target);
		const fresh = due.get(field);
		if (!fresh) return;
		due.delete(field);
		const edited = isEdited(field);
		setDefault(field, fresh);
		if (!edited) restore(field, entered(fresh));
	}, true);
}
