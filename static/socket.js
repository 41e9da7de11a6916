// The page's one socket: it opens with the first scope, closes after the last, and comes back by itself. Where sockets do
// not pass, stream.js puts something in its place that looks the same from here.

import { announce } from "./events.js";
import { hasUnsaved } from "./fields.js";

/** @typedef {import("./scope.js").Scope} Scope */

/** Where the server is mounted: two levels above this module, whatever the page's own address. */
export const base = new URL("../../", import.meta.url);

const PROTOCOLS = ["lockstep.v1", "lockstep"]; // this version, and the word by which any server can tell us of another one
const LIMIT = 120 * 1024; // bytes of a frame: the server reads 128 KiB
const GRACE = 1000; // ms of interruption that nobody has to hear of
const LEAVING = 10000; // ms in which something may take the page's place, and nobody hears of one either
const LASTED = 10000; // ms after which a connection counts as a good one
const PATIENCE = 8000; // ms that stand for the heartbeat until the server has named it

/** @type {Map<string, Scope>} those in the page */
const scopes = new Map();
/** @typedef {Pick<WebSocket, "readyState" | "onopen" | "onmessage" | "onclose" | "send" | "close">} Line */
/** @type {Line | undefined} */
let socket;
/** @type {new (url: URL, protocols: string[]) => Line} */
let Line = WebSocket;
let greeted = 0; // when this connection's hello came, or 0
let seen = 0; // when its last frame came
let doubted = false; // it was silent for too long at the last look
let beat = PATIENCE;
let build = "";
let attempt = 0;
let count = 0; // of subscribes
let over = ""; // closed with "do not come back": the status of every scope
let away = false; // the page is being left, or sleeps in the back/forward cache
let leaving = 0; // LEAVING for as long
/** @typedef {number | undefined} Timer */
let retryTimer = /** @type {Timer} */ (undefined);
let watchTimer = /** @type {Timer} */ (undefined);
let graceTimer = /** @type {Timer} */ (undefined);
let idleTimer = /** @type {Timer} */ (undefined);

/**
 * How long to wait before try n: anywhere up to a limit that doubles (full jitter), so that those who lost the same
 * server do not come back at the same moment.
 * @param {number} n tries since the last good connection
 * @param {() => number} [random]
 */
export const backoff = (n, random = Math.random) => (1 - random()) * Math.min(30000, 500 * 2 ** n);

const { dataset } = document.documentElement;

/** @param {string} status */
function show(status) {
	if (dataset.lsStatus === status) return;
	dataset.lsStatus = status;
	announce(document, "status", { status });
}

/** Shows an interruption, once it has lasted long enough to be one. */
export function interrupted() {
	graceTimer ??= setTimeout(() => {
		graceTimer = undefined;
		if (leaving || !wanted()) return;
		if (!greeted) show(navigator.onLine ? "reconnecting" : "offline");
		scopes.forEach((scope) => scope.late());
	}, GRACE);
}

const wanted = () => !over && !away && [...scopes.values()].some((scope) => !scope.ended);

/** Lets stream.js say what connects from now on. @param {boolean} [failed] it has failed before the first word */
export const choose = (failed) => import("./stream.js").then((m) => m.choose(failed && Line, (next) => (Line = next)), () => {});

function connect() {
	clearTimeout(retryTimer);
	retryTimer = undefined;
	if (socket || !wanted()) return;
	if ((dataset.lsStatus ?? "denied") === "denied") show("connecting");
	const url = new URL("socket", base);
	url.protocol = url.protocol.replace("http", "ws");
	const mine = (socket = new Line(url, PROTOCOLS));
	beat = PATIENCE;
	heard();
	watch();
	// A socket that was given up may still have something to say: nobody listens.
	mine.onopen = () => mine === socket && scopes.forEach((scope) => scope.ended || scope.renewing || subscribe(scope));
	mine.onmessage = (event) => mine === socket && (heard(), receive(event.data));
	mine.onclose = (event) => mine === socket && lost(event.code, event.reason);
}

function drop() {
	clearTimeout(watchTimer);
	const old = socket;
	socket = undefined;
	greeted = 0;
	scopes.forEach((scope) => (scope.answered = false));
	old?.close();
}

/**
 * @param {number} [code]
 * @param {string} [reason]
 */
function lost(code, reason) {
	if (greeted && performance.now() - greeted >= LASTED) attempt = 0;
	if (!greeted && (code ?? 1006) === 1006) choose(true);
	drop();
	if (code === 4401) return finish("denied", "denied");
	if (code === 4426) {
		finish("outdated", "gone");
		const allowed = () => announce(document, "reload", {}, { cancelable: true });
		return void import("./reload.js").then(({ reloadFor }) => reloadFor(reason ?? "", hasUnsaved, allowed), () => {});
	}
	if (!wanted()) return;
	interrupted();
	const within = [1001, 1012, 1013].includes(code ?? 0) ? Math.min(Number(reason), 300000) : 0;
	retryTimer = setTimeout(connect, Math.random() * within || backoff(attempt++));
}

/** @param {string} status of the page @param {string} ofScopes */
function finish(status, ofScopes) {
	over = ofScopes;
	setTimeout(() => {
		scopes.forEach((scope) => scope.end(over));
		show(status);
	}, leaving);
}

function heard() {
	seen = performance.now();
	doubted = false;
}

/** Finds a connection that died without a word: silent for longer than a heartbeat, and still so at a second look. */
function watch() {
	clearTimeout(watchTimer);
	const left = seen + beat * 1.25 - performance.now();
	if (left <= 0) {
		if (doubted) return lost();
		doubted = true; // this timer may be late rather than the frames: whatever has arrived is handled before it fires again
	}
	watchTimer = setTimeout(watch, left > 0 ? left : beat / 4);
}

/** @param {object} frame */
const send = (frame) => socket?.readyState === 1 && socket.send(JSON.stringify(frame));

/** @param {string} data */
function receive(data) {
	try {
		const frame = JSON.parse(data);
		const scope = scopes.get(frame.s);
		const current = scope?.n === frame.n && scope;
		if (frame.t === "ping") send({ t: "pong" });
		else if (frame.t === "hello") hello(frame);
		else if (frame.t === "ok" && current) current.answer(frame);
		else if (frame.t === "no" && current) current.refused(frame);
		else if (frame.t === "f" || frame.t === "l") scopes.forEach((scope) => scope.live(frame));
	} catch (error) {
		reportError(error); // the next frame may be better
	}
}

/** @param {{heartbeat?: number, build?: string}} frame */
function hello(frame) {
	greeted = seen;
	beat = frame.heartbeat || PATIENCE;
	watch();
	show("connected");
	clearTimeout(graceTimer);
	graceTimer = undefined;
	interrupted(); // the scopes' own answers have as long again
	if (build && frame.build && build !== frame.build) announce(document, "build", { build: frame.build });
	build = frame.build || build;
}

/**
 * Asks for a scope, now or as soon as there is a connection.
 * @param {Scope} scope
 */
export function subscribe(scope) {
	scope.answered = false;
	if (socket?.readyState !== 1) {
		if (!retryTimer) connect(); // a new scope is no reason to come back earlier
		return;
	}
	scope.n = ++count;
	const frame = { t: "sub", n: scope.n, s: scope.s, ...scope.ask() };
	if (JSON.stringify(frame).length > LIMIT) scope.renew(); // one token for all of them
	else send(frame);
}

/** @param {Scope} scope one that has come into the page */
export function join(scope) {
	clearTimeout(idleTimer);
	scopes.set(scope.s, scope);
	if (over) scope.end(over);
	else subscribe(scope);
}

/** @param {Scope} scope one that is gone from it */
export function leave(scope) {
	scopes.delete(scope.s);
	send({ t: "unsub", s: scope.s });
	idle();
}

/** Closes the socket when nobody needs it; not at once, since what replaces the last scope may be on its way. */
export function idle() {
	clearTimeout(idleTimer);
	idleTimer = setTimeout(() => {
		if (wanted() || away || over) return;
		clearTimeout(retryTimer);
		retryTimer = undefined;
		drop();
		if ([...scopes.values()].some((scope) => scope.ended === "denied")) show("denied");
		else delete dataset.lsStatus;
	}, GRACE);
}

/** Follows what the browser knows about the page and its network. Called once. */
export function watchPage() {
	const again = () => {
		connect();
		if (greeted && !doubted) watch();
	};
	addEventListener("online", again);
	addEventListener("offline", interrupted);
	document.addEventListener("visibilitychange", () => document.hidden || again());
	addEventListener("beforeunload", () => {
		leaving = LEAVING;
		setTimeout(() => {
			leaving = 0;
			interrupted();
		}, LEAVING);
	});
	addEventListener("pagehide", () => {
		away = true;
		clearTimeout(graceTimer);
		graceTimer = undefined;
		drop(); // an open socket would keep the page out of the back/forward cache
	});
	addEventListener("pageshow", (event) => {
		if (!event.persisted) return;
		away = false;
		drop();
		connect();
	});
}

/** Applies what was held back. */
export const flush = () => scopes.forEach((scope) => scope.flush());
