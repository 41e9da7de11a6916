// Notes how long each list took from the moment it was published until the document shows it.

import * as Turbo from "@hotwired/turbo";

Turbo.session.drive = false;

/** @type {Record<string, number[]>} ms, by the list's id */
const took = { lockstep: [], turbo: [] };
/** @type {Record<string, string>} */
const shown = {};

new MutationObserver(() => {
	const now = performance.timeOrigin + performance.now();
	for (const [id, times] of Object.entries(took)) {
		const at = document.getElementById(id)?.dataset.at ?? "0";
		if (shown[id] && at !== shown[id]) times.push(now - Number(at));
		shown[id] = at;
	}
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });

Turbo.connectStreamSource(new EventSource("/turbo"));

Object.assign(globalThis, { took });
