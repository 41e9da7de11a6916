// Times what each morph needs to bring one changed part of a fragment into the page.

import * as Turbo from "@hotwired/turbo";
import { Idiomorph } from "/modules/idiomorph/dist/idiomorph.esm.js";
import { parse } from "/client/html.js";
import { morph, same } from "/client/morph.js";

Turbo.session.drive = false;

const stage = /** @type {HTMLElement} */ (document.getElementById("stage"));

/** @param {string} html */
function template(html) {
	const template = document.createElement("template");
	template.innerHTML = html;
	return template.content;
}

/** How each brings HTML into the page: ours as its scopes do, Turbo's as its stream action "replace" with method "morph". */
const ways = {
	lockstep: (shown, html) => {
		const fresh = parse(html);
		if (!same(shown, fresh)) morph(shown, fresh);
	},
	turbo: (shown, html) => Turbo.morphElements(shown, template(html)),
	idiomorph: (shown, html) => Idiomorph.morph(shown, template(html).firstElementChild, { morphStyle: "outerHTML" }),
};

const fragments = {
	"3 KB list": (n) => {
		const items = Array.from({ length: 60 }, (_, i) => `<li id="item-${i}" class="line">Item ${i}: <b>${i === 30 ? n : 7}</b> left</li>`);
		return `<ul id="shown">${items.join("")}</ul>`;
	},
	"200-row table": (n) => {
		const rows = Array.from(
			{ length: 200 },
			(_, i) => `<tr id="row-${i}"><td>Product ${i}</td><td class="number">${i === 100 ? n : 7}</td><td>in ${i % 5} days</td></tr>`,
		);
		return `<table id="shown"><tbody>${rows.join("")}</tbody></table>`;
	},
};

const median = (/** @type {number[]} */ of) => of.sort((a, b) => a - b)[of.length >> 1];
const breath = () => new Promise((done) => setTimeout(done));

/**
 * @param {number} runs of each way, in turns of one
 * @returns {Promise<{fragment: string, bytes: number, way: string, apply: number, layout: number}[]>} medians in ms
 */
async function measure(runs) {
	const results = [];
	for (const [fragment, html] of Object.entries(fragments)) {
		const times = Object.fromEntries(Object.keys(ways).map((way) => [way, { apply: [], layout: [] }]));
		stage.innerHTML = html(0);
		for (let run = 1; run <= runs * 1.2; run++) {
			if (run % 10 === 0) await breath(); // so that observers and the collector have their turn outside of what is timed
			for (const [way, apply] of Object.entries(ways)) {
				const next = html(`${way} ${run}`);
				const shown = stage.firstElementChild;
				stage.getBoundingClientRect();
				const begun = performance.now();
				apply(shown, next);
				const applied = performance.now();
				stage.getBoundingClientRect();
				const laidOut = performance.now();
				if (stage.innerHTML !== next) throw new Error(`${way} shows something else than the ${fragment}`);
				if (run <= runs * 0.2) continue; // until the engine has compiled it
				times[way].apply.push(applied - begun);
				times[way].layout.push(laidOut - applied);
			}
		}
		for (const [way, { apply, layout }] of Object.entries(times)) {
			results.push({ fragment, bytes: html(7).length, way, apply: median(apply), layout: median(layout) });
		}
	}
	return results;
}

Object.assign(globalThis, { measure });
