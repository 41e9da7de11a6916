// What the application hears from us; docs/protocol.md lists it.

/**
 * Tells whoever listens at a place or above it.
 * @param {EventTarget} place
 * @param {string} type
 * @param {object} [detail]
 * @param {EventInit} [options]
 * @returns {boolean} false if the event could be cancelled, and was
 */
export const announce = (place, type, detail, options) =>
	place.dispatchEvent(new CustomEvent("lockstep:" + type, { bubbles: true, detail, ...options }));
