// Forms that send their message without leaving the page. Without this module they are ordinary POSTs.

import { attribute, parsePage } from "./html.js";
import { entered, fieldsOf, keepDefaults, resetForm, restore } from "./fields.js";
import { untilFree } from "./hold.js";
import { morph } from "./morph.js";
import { backoff } from "./socket.js";

const FORM = "form[data-ls-form]";
const TRIES = 3; // more, after a first one that nobody answered
const TEXT = 500; // characters of an answer that fit beside a form

/** @type {Map<string, string>} the key of each message that has had no answer yet, by its form's id */
const keys = new Map();
/** @type {Set<string>} the ids of forms whose message is on its way */
const pending = new Set();

/** @typedef {{form: HTMLFormElement, id: string, url: URL, body: FormData | URLSearchParams, sent: Map<Element, string>}} Message */

/** @param {Element} form @param {Element | null} submitter @param {string} name what either of them says */
const said = (form, submitter, name) => submitter?.getAttribute("form" + name) ?? form.getAttribute(name) ?? "";

/** @param {SubmitEvent} event */
function onSubmit(event) {
	const form = /** @type {HTMLFormElement} */ (event.target);
	const { submitter } = event;
	if (event.defaultPrevented || !form.matches(FORM) || said(form, submitter, "method").toLowerCase() !== "post") return;
	const url = new URL(said(form, submitter, "action"), document.baseURI);
	if (url.origin !== location.origin || !/^(_self)?$/i.test(said(form, submitter, "target"))) return;
	event.preventDefault();
	const id = attribute(form, "data-ls-form");
	if (pending.has(id)) return; // a second click is the same message
	const data = new FormData(form, submitter);
	if (!keys.has(id)) keys.set(id, mint());
	data.set("_ls_key", keys.get(id) ?? "");
	const multipart = said(form, submitter, "enctype").toLowerCase() === "multipart/form-data";
	const body = multipart ? data : new URLSearchParams([...data].map(([k, v]) => [k, typeof v === "string" ? v : v.name]));
	const sent = new Map(fieldsOf(form).map((control) => [control, String(entered(control))]));
	send({ form, id, url, body, sent });
}

/** An idempotency key. `crypto.randomUUID` is missing on plain http. */
const mint = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** @param {Message} message */
async function send(message) {
	pending.add(message.id);
	current(message)?.setAttribute("aria-busy", "true");
	for (const outcome of message.form.querySelectorAll("[data-ls-outcome]")) outcome.remove();
	try {
		const response = await post(message);
		if (response) await answered(message, response);
		else tell(message, "The server could not be reached. Your entries are still here: try again.");
	} finally {
		pending.delete(message.id);
		current(message)?.removeAttribute("aria-busy");
	}
}

/**
 * The form as the page has it now.
 * @param {Message} message
 * @returns {HTMLFormElement | null}
 */
const current = ({ form, id }) => (form.isConnected ? form : document.querySelector(`${FORM}[data-ls-form="${CSS.escape(id)}"]`));

/** @param {Message} message @returns {Promise<Response | null>} null if nobody answered, however often it was tried */
async function post({ url, body }) {
	for (let tries = 0; ; tries++) {
		try {
			const headers = { "Lockstep-Action": "1", Accept: "application/json, text/html" };
			const response = await fetch(url, { method: "POST", headers, body });
			if (![502, 503, 504].includes(response.status)) return response;
		} catch {} // no network
		if (tries === TRIES) return null;
		await new Promise((resolve) => setTimeout(resolve, backoff(tries)));
	}
}

/** @param {Message} message @param {Response} response */
async function answered(message, response) {
	const text = await response.text();
	if (response.status < 500) keys.delete(message.id); // after an error of the server, the same message may be tried again
	if (response.redirected) return location.assign(response.url); // somebody before us had other plans, a sign-in for one
	if (response.ok) return done(message, text);
	const html = /html/.test(response.headers.get("Content-Type") ?? "") ? parsePage(text) : null;
	await untilFree(message.form);
	const form = current(message);
	const fresh = response.status === 422 && html?.querySelector(`${FORM}[data-ls-form="${CSS.escape(message.id)}"]`);
	if (form && fresh) {
		keepDefaults(form, fresh);
		morph(form, fresh);
	} else tell(message, (html ? (html.querySelector("[data-ls-outcome]") ?? html.body).textContent ?? "" : text) || response.statusText);
}

/** @param {Message} message @param {string} json */
function done(message, json) {
	let next;
	try {
		next = new URL(JSON.parse(json).next, location.href);
	} catch {
		return tell(message, "The answer was not understood. Please check whether your entries arrived.");
	}
	const form = current(message);
	if (form) reset(form, message.sent);
	const stays = next.origin + next.pathname + next.search === location.origin + location.pathname + location.search;
	if (/^https?:$/.test(next.protocol) && (!stays || next.hash)) location.assign(next);
}

/**
 * Empties a form whose message has arrived, apart from what the user has entered since.
 * @param {HTMLFormElement} form
 * @param {Map<Element, string>} sent
 */
function reset(form, sent) {
	const later = fieldsOf(form).filter((control) => (sent.get(control) ?? "") !== String(entered(control)));
	const values = later.map((control) => entered(control));
	resetForm(form);
	later.forEach((control, i) => control.type === "file" || restore(control, values[i]));
}

/**
 * Shows a sentence in the form and has it read out.
 * @param {Message} message
 * @param {string} text
 */
function tell(message, text) {
	const alert = document.createElement("p");
	alert.setAttribute("role", "alert");
	alert.setAttribute("data-ls-outcome", "");
	alert.textContent = text.trim().replace(/\s+/g, " ").slice(0, TEXT);
	current(message)?.prepend(alert);
}

/** Takes over the forms of the page, now and later. Called once. */
export function watchForms() {
	addEventListener("submit", onSubmit); // the last to hear, so that the application can prevent it
}
