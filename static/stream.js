// What stands in for the socket where upgrades do not pass: the same frames as Server-Sent Events in the answer to a
// POST, and what follows as more POSTs. Loaded when a socket ended before the server's first word. Where something holds
// the answer back until it ends, it is asked for in rounds, each of which ends by itself.

const MARK = "lockstep:stream"; // in the tab's memory: since when streams stand in
const AGAIN = 600000; // ms after which the socket is tried once more, at the next occasion
const NAP = 4000; // ms between signs of life of a stream that sleeps
const PLACES = 3; // streams of one browser that last, over HTTP/1.1
const TURN = 1000; // ms after the greeting that one without a place has
const RENEW = 1000; // ms between two times that a place is written down, where there are no locks
const LAPSE = 5000; // ms after which a place that was not is free
const PATIENCE = 6000; // ms for the first word of a stream
const ROUND = 15000; // ms that the server waits for news, before it ends a round
const PAUSE = 1000; // ms between two rounds, or up to half as long again
const url = new URL("../../stream", import.meta.url);
const json = { "Content-Type": "application/json" };

// Over HTTP/1.1 all tabs of an origin share six connections: those that nobody sees give theirs back.
const [page] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
const crowded = !/^h[23]/.test(page?.nextHopProtocol ?? "");

let reached = false; // plain HTTP passed at the last look
let since = 0; // when sockets were found not to pass
let held = false; // and whether answers come when they have ended

/**
 * Takes one of the browser's places until it is aborted.
 * @param {AbortController} mine
 */
async function place(mine) {
	if (!navigator.locks) return written(mine).catch(() => false); // who may write nothing down takes turns
	for (let n = 0; n < PLACES; n++) {
		/** @type {(value: boolean) => void} */
		let say = () => {};
		const got = new Promise((resolve) => (say = resolve));
		navigator.locks.request(MARK + n, { ifAvailable: true }, (lock) => {
			say(!!lock);
			return lock && new Promise((resolve) => mine.signal.addEventListener("abort", resolve));
		});
		if (await got) return true;
	}
	return false;
}

/**
 * The same where there are no locks, on plain HTTP: the places are written down where all tabs of the origin read them, and
 * written anew as long as they are taken. Who finds another's name in its place has slept too long, and stops.
 * @param {AbortController} mine
 */
async function written(mine) {
	const me = String(Math.random());
	for (let n = 0; n < PLACES; n++) {
		const key = MARK + n;
		const read = () => (localStorage.getItem(key) ?? "").split(" ");
		const write = () => localStorage.setItem(key, me + " " + Date.now());
		const isMine = () => read()[0] === me;
		if (Math.abs(Date.now() - Number(read()[1] ?? 0)) < LAPSE) continue;
		write();
		await new Promise((resolve) => setTimeout(resolve, 50 + 100 * Math.random())); // for another who writes at the same moment
		if (!isMine()) continue;
		const again = setInterval(() => (isMine() ? write() : mine.abort()), RENEW);
		const leave = () => {
			clearInterval(again);
			if (isMine()) localStorage.removeItem(key);
		};
		mine.signal.addEventListener("abort", leave);
		if (mine.signal.aborted) leave();
		return true;
	}
	return false;
}

/** Says whether plain HTTP passes. */
const passes = () => fetch(url, { method: "HEAD", cache: "no-store" }).then(({ ok }) => ok, () => false);

/** @typedef {(line: any) => void} Use takes what connects from now on: a WebSocket, or what looks like one */
/** @type {Use} */
let use;

/**
 * Says what connects. Where sockets end twice before they were greeted while plain HTTP passes, it is a stream; where a
 * stream does, it is a socket.
 * @param {unknown} failed what has just ended so
 * @param {Use} to
 */
export async function choose(failed, to) {
	use = to;
	if (!failed) {
		const [at, word] = (sessionStorage.getItem(MARK) ?? "").split(" ");
		since = Number(at);
		held = !!word;
		reached = true;
		return use(Stream);
	}
	const before = reached;
	reached = await passes();
	if (failed === Stream) reached && use(WebSocket);
	else if (before && reached) {
		since = Date.now();
		use(Stream);
	}
}

/** A connection that looks like a WebSocket to who uses it. */
export class Stream {
	readyState = 0; // 1: takes frames
	/** @type {(() => void) | null} called again whenever everything must be asked for anew */
	onopen = null;
	/** @type {((event: {data: string}) => void) | null} */
	onmessage = null;
	/** @type {((event: {code: number, reason: string}) => void) | null} */
	onclose = null;
	/** @type {string[]} */
	#protocol;
	/** @type {string[]} frames that wait to be sent */
	#queue = [];
	#id = ""; // the stream's, for commands; "" until it has come
	#posting = false;
	/** @type {AbortController | undefined} of the running stream; none sleeps */
	#running;
	/** @type {number | undefined} */
	#nap;
	/** @type {number | undefined} */
	#alarm;
	/** @type {number | undefined} rings where it has said nothing for too long */
	#doubt;
	/** @type {Map<string, any>} by scope, the subscribes that each round repeats, with the stamp of the answer */
	#asked = new Map();
	#greetings = 0;

	/** @param {URL} _socket @param {string[]} protocol */
	constructor(_socket, protocol) {
		this.#protocol = protocol;
		document.addEventListener("visibilitychange", this.#look);
		queueMicrotask(this.#look);
	}

	/** Runs or sleeps, as is right for what the user sees. */
	#look = () => {
		if (document.hidden && crowded) this.#sleep();
		else if (this.readyState < 3 && !this.#running) {
			if (Date.now() - since < AGAIN) this.#run();
			else {
				held = false;
				use(WebSocket);
				this.#end(1012, "1"); // now
			}
		}
	};

	#stop() {
		this.#running?.abort();
		this.#running = undefined;
		this.#id = "";
		this.#queue = [];
		clearInterval(this.#nap);
		clearTimeout(this.#alarm);
		this.#trust();
	}

	#sleep() {
		this.#stop();
		this.readyState = 0;
		this.#nap = setInterval(() => this.onmessage?.({ data: "{}" }), NAP); // it is not dead
	}

	async #run() {
		this.#stop();
		const mine = (this.#running = new AbortController());
		if (!held) this.#hold(PATIENCE);
		const lasts = held || !crowded || (await place(mine));
		if (this.#running !== mine) return;
		this.readyState = 1;
		this.#asked.clear();
		this.onopen?.(); // what is sent now goes with the request
		if (held) return;
		await this.#read({}, mine, lasts);
		if (this.#running === mine) this.#end(1006, "");
	}

	/** Goes on in rounds, unless it is trusted within ms or before something small has passed. @param {number} ms */
	#hold(ms) {
		this.#trust();
		const mine = (this.#doubt = setTimeout(async () => {
			if (!(await passes()) || this.#doubt !== mine) return;
			held = true;
			this.#run();
		}, ms));
	}

	#trust() {
		clearTimeout(this.#doubt);
		this.#doubt = undefined;
	}

	/** Begins a round after some ms, in place of the running one. @param {number} ms */
	#next(ms) {
		clearTimeout(this.#alarm);
		this.#alarm = setTimeout(() => this.#round(), ms);
	}

	async #round() {
		this.#stop();
		const mine = (this.#running = new AbortController());
		const lasts = !crowded || (await place(mine));
		if (this.#running !== mine) return;
		this.onmessage?.({ data: "{}" }); // it is not dead
		this.#queue = [...this.#asked.values()].map((frame) => JSON.stringify(frame));
		const before = this.#greetings;
		await this.#read({ wait: lasts ? ROUND : TURN }, mine, true);
		if (this.#running !== mine) return;
		mine.abort(); // gives its place to others
		if (this.#greetings === before) this.#end(1006, "");
		else this.#next(lasts ? PAUSE * (1 + Math.random() / 2) : NAP);
	}

	/**
	 * Asks for an answer, and reads it as long as it is the running one.
	 * @param {object} head
	 * @param {AbortController} mine
	 * @param {boolean} lasts
	 */
	async #read(head, mine, lasts) {
		const current = () => this.#running === mine;
		try {
			const { ok, body } = await this.#post({ protocol: this.#protocol, ...head }, mine);
			const reader = ok && body?.pipeThrough(new TextDecoderStream()).getReader();
			for (let text = ""; reader && current(); ) {
				const { value, done } = await reader.read();
				if (done) break;
				const events = (text + value).split("\n\n");
				text = events.pop() ?? "";
				for (const event of events) if (current()) this.#hear(event, lasts);
			}
		} catch {} // the network's error, or our own end
	}

	/** @param {string} event @param {boolean} lasts */
	#hear(event, lasts) {
		const [, kind, data] = /^(?:event: (\w+)\n)?data: ([^\n]*)$/.exec(event) ?? [];
		if (kind === "open") {
			if (held) return;
			this.#id = JSON.parse(data).stream;
			this.#flush();
		} else if (kind === "close") {
			const { code, reason } = JSON.parse(data);
			this.#end(code, reason);
		} else if (data && !kind) {
			const frame = JSON.parse(data);
			if (frame.t === "hello") this.#greeted(frame, lasts);
			else if (frame.t === "ping") this.#trust(); // it is no gathered answer that has brought this
			else if (held) this.#note(frame);
			this.onmessage?.({ data });
		}
	}

	/** Notes what the next round is to say of a scope. @param {any} frame */
	#note({ t, n, s, i, r }) {
		const asked = this.#asked.get(s);
		if (!asked || asked.n !== n) return;
		if (t === "ok") Object.assign(asked, { first: false, i, r });
		else this.#asked.delete(s); // "no": who wants to asks again
	}

	/**
	 * @param {{heartbeat?: number}} frame
	 * @param {boolean} lasts or it makes way for others soon, and comes back
	 */
	#greeted({ heartbeat }, lasts) {
		this.#greetings++;
		this.#trust();
		if (!held && heartbeat) this.#hold(heartbeat * 1.2); // what gathers some kilobytes lets the first ones through
		try {
			sessionStorage.setItem(MARK, since + (held ? " held" : "")); // spares the tab's next page the search
		} catch {}
		if (lasts) return;
		this.#alarm = setTimeout(() => {
			this.#sleep();
			this.#alarm = setTimeout(this.#look, NAP);
		}, TURN);
	}

	/** @param {object} head @param {AbortController} of */
	#post(head, of) {
		const body = JSON.stringify({ ...head, commands: this.#queue.splice(0).map((frame) => JSON.parse(frame)) });
		return fetch(url, { method: "POST", headers: json, body, signal: of.signal, cache: "no-store" });
	}

	/** Sends what waits, one request after the other, so that commands keep their order. */
	async #flush() {
		const mine = this.#running;
		if (this.#posting || !mine || !this.#id || !this.#queue.length) return;
		this.#posting = true;
		const answer = await this.#post({ stream: this.#id }, mine).catch(() => null);
		this.#posting = false;
		if (this.#running === mine) {
			if (answer?.status === 404) return this.#run(); // it has reached another process than the stream's
			if (!answer?.ok) return this.#end(1006, "");
		}
		this.#flush();
	}

	/** @param {string} frame */
	send(frame) {
		if (held) return this.#ask(JSON.parse(frame));
		this.#queue.push(frame);
		this.#flush();
	}

	/** @param {any} command that the next round is to bring */
	#ask(command) {
		if (command.t === "unsub") this.#asked.delete(command.s);
		else if (command.t === "sub") {
			this.#asked.set(command.s, command);
			this.#next(0);
		}
	}

	close() {
		document.removeEventListener("visibilitychange", this.#look);
		this.#stop();
		this.readyState = 3;
	}

	/** @param {number} code @param {string} reason */
	#end(code, reason) {
		this.close();
		this.onclose?.({ code, reason });
	}
}
