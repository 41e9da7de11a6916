// The client against the golden frames and the closed lists that the hub's tests read too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { answers, golden, hide, pass, protocol, requests, settle, show, sockets } from "./page.mjs";

const { Scope } = await import("../scope.js");
const socket = () => sockets[sockets.length - 1];

/** A golden frame, said to this scope's newest subscribe. */
function about(scope, name) {
	const text = golden(name);
	return text.replace('"n":1', `"n":${scope.n}`).replace('"s":"s1"', `"s":"${scope.s}"`);
}

/** What the client has sent, in the numbers and names of the golden frames. */
const sent = (scope, n) =>
	socket().sent.splice(0).map((text) => text.replace(`"n":${scope.n}`, `"n":${n}`).replace(`"s":"${scope.s}"`, '"s":"s1"'));

test("what it says", async () => {
	const scope = await show(Scope, ["count"]);
	assert.deepEqual(socket().protocols, [protocol.version, protocol.anyVersion]);
	socket().open();
	assert.deepEqual(sent(scope, 1), [golden("client-sub")]);
	socket().hear(golden("server-ping"));
	assert.deepEqual(sent(scope, 1), [golden("client-pong")]);
	await hide(scope);
	assert.deepEqual(sent(scope, 1), [golden("client-unsub")]);
	const more = await show(Scope, ["count"], ["0a1b2c3d.PART1", "0a1b2c3d.PART2"]);
	sent(more, 2);
	socket().hear(about(more, "server-ok-equal")); // it shows something newer than its page from now on
	socket().end(1012, "1");
	await pass(1);
	socket().open();
	assert.deepEqual(sent(more, 2), [golden("client-sub-more")]);
	await hide(more);
	await pass(2000);
	assert.equal(socket().readyState, 3);
});

test("what it hears", async () => {
	const scope = await show(Scope, ["count", "items"]);
	const [count, items] = scope.parts;
	socket().open();
	socket().hear(about(scope, "server-ok-equal"));
	assert.equal(scope.getAttribute("status"), "connected");
	assert.deepEqual([count.shown, items.shown], [[], []]);
	for (const name of ["server-ok", "server-f"]) {
		const { f, k, h } = JSON.parse(golden(name));
		socket().hear(about(scope, name).replace(/\}$/, ',"later":{"x":[1]}}')); // with a field of a later version
		for (const part of f ?? [{ k, h }]) assert.equal((part.k === "count" ? count : items).shown.pop(), part.h);
	}
	socket().hear(golden("server-f").replace("9007199254740994", "9007199254740992")); // an older one
	socket().hear('{"t":"weather","n":1}');
	sent(scope, 1);
	await import("../list.js"); // what applies patches
	socket().hear(golden("server-l")); // of another revision than it shows
	for (let i = 0; i < 100 && !socket().sent.length; i++) await new Promise((resolve) => setImmediate(resolve));
	assert.deepEqual(sent(scope, 1), [golden("client-sub").replace('"first":true', '"first":false')], "everything anew");
	assert.deepEqual([count.shown, items.shown], [[], []]);
	socket().hear(about(scope, "server-ok-absent")); // a new incarnation, or none
	assert.equal(count.shown.pop(), '<b data-ls="count">0</b>');
	await hide(scope);
	await pass(2000);
});

/** What a client does about each kind of reason: its scope's status at once, and how often it asks within 50 s and 90 s. */
const reactions = {
	denied: { status: "denied", asks: [0, 0] },
	gone: { status: "gone", asks: [0, 0] },
	limit: { status: "denied", asks: [0, 1] },
	again: { status: "connecting", asks: [1, 1] },
	refresh: { status: "connecting", asks: [1, 1], requests: ["POST"] },
	page: { status: "connecting", asks: [0, 0], requests: ["GET"], end: "gone" },
};

for (const { reason, retry, client } of protocol.reasons) {
	test(`refused: ${reason}`, async () => {
		const { status, asks, requests: wanted = [], end = status } = reactions[client];
		const scope = await show(Scope, ["count"]);
		socket().open();
		sent(scope, 1);
		requests.length = 0;
		if (client === "refresh") answers.push({ status: 200, json: async () => ({ token: "0a1b2c3d.FRESH" }) });
		const text = about(scope, "server-no-" + reason);
		assert.equal(JSON.parse(text).retry, retry);
		socket().hear(text);
		assert.equal(scope.getAttribute("status"), status);
		await settle();
		const beats = async (seconds) => {
			for (let i = 0; i < seconds; i += 10) {
				await pass(10000);
				if (socket().readyState === 0) socket().open(); // a page that waits for nothing has none in between
				if (socket().readyState === 1) socket().hear(golden("server-ping"));
			}
		};
		const before = sockets.length - 1;
		const subs = () => sockets.slice(before).flatMap((one) => one.sent.filter((frame) => frame.startsWith('{"t":"sub"'))).length;
		await beats(50);
		const early = subs();
		await beats(40);
		assert.deepEqual([early, subs()], asks);
		assert.deepEqual(requests.map((request) => request.split(" ")[0]), wanted);
		assert.equal(scope.getAttribute("status"), end);
		if (client === "refresh") {
			socket().hear(about(scope, "server-no-" + reason)); // once is enough
			assert.equal(scope.getAttribute("status"), "gone");
		}
		assert.equal(asks[1] === 0 || client === "limit" || client === "refresh", !retry);
		await hide(scope);
		await pass(2000);
	});
}

test("a reason of a later version", async () => {
	for (const [retry, status, asks] of [[true, "connecting", 1], [false, "gone", 0]]) {
		const scope = await show(Scope, ["count"]);
		socket().open();
		sent(scope, 1);
		socket().hear(`{"t":"no","n":${scope.n},"s":"${scope.s}","reason":"tired","retry":${retry},"after":100}`);
		await pass(500);
		assert.equal(socket().sent.length, asks);
		assert.equal(scope.getAttribute("status"), status);
		await hide(scope);
		await pass(2000);
	}
});

const closed = async (code, reason = "") => {
	const worker = new Worker(new URL("close.mjs", import.meta.url), { workerData: { code, reason } });
	const [result] = await once(worker, "message");
	return result;
};

for (const { code, retry, page } of [...protocol.closes, { code: 1006, retry: true, page: "reconnecting" }]) {
	test(`closed: ${code}`, async () => {
		const { returned, ...after } = await closed(code);
		assert.equal(returned[3] > 0, retry);
		assert.equal(after.page, page);
		assert.equal(after.scope, { denied: "denied", outdated: "gone" }[page] ?? "reconnecting");
		assert.equal(after.loads, page === "outdated" ? 1 : 0);
		if (![1001, 1012, 1013].includes(code)) return;
		assert.deepEqual((await closed(code, "5000")).returned.slice(0, 3), [0, 0, 1]); // within the time that is named
	});
}
