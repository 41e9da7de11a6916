// What the user's hand is on: a press that is not yet a click, and text that an input method is still composing.
// Exchanging elements under either loses it, so updates for a part that contains one wait until it is over.

/** @type {{node: Node} | null} */
let press = null;
/** @type {{node: Node} | null} */
let composing = null;

/** @type {(() => void)[]} */
const waiting = [];

/**
 * Whether an update of the element has to wait.
 * @param {Element} element
 */
export const isHeld = (element) => [press?.node, composing?.node].some((node) => node?.isConnected && element.contains(node));

/** @param {Element} element @returns {Promise<void>} resolved when an update of it need not wait */
export async function untilFree(element) {
	while (isHeld(element)) await new Promise((/** @type {(value?: any) => void} */ resolve) => waiting.push(resolve));
}

/** @param {() => void} apply what had to wait; called whenever something is let go */
export function watchHands(apply) {
	const flush = () => {
		apply();
		for (const resolve of waiting.splice(0)) resolve();
	};
	/** @param {Record<string, (event: any) => void>} handlers */
	const on = (handlers) => {
		for (const type in handlers) addEventListener(type, handlers[type], { capture: true, passive: true });
	};
	/** @param {number} wait long enough for the click's own handlers to run first */
	const release = (wait) => {
		const mine = press;
		if (mine) setTimeout(() => press === mine && ((press = null), flush()), wait);
	};
	on({
		pointerdown: (event) => (press = { node: event.target }),
		click: () => release(0),
		// A mouse clicks in the same task; after a touch the click is an event of its own that comes later, or never.
		pointerup: (event) => release(event.pointerType === "mouse" ? 0 : 350),
		pointercancel: () => release(0),
		// The button was let go where this page could not see it.
		pointermove: (event) => event.buttons || release(0),
		blur: (event) => event.target === window && release(0),
		compositionstart: (event) => (composing = { node: event.target }),
		compositionend: () => {
			const mine = composing;
			setTimeout(() => composing === mine && ((composing = null), flush())); // after the field's own handlers
		},
	});
}
