// <stock-trend> draws what was left of a product after each of the last changes. It hears of every new number from the
// page's scope, which is kept current; what it says stands in words beside it.

const SVG = "http://www.w3.org/2000/svg";
const width = 320;
const height = 64;
const edge = 5; // so that the dot at the end fits

/** @param {string} name @param {Record<string, string | number>} attributes */
function shape(name, attributes) {
	const element = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
	return element;
}

/** @param {number[]} values at least two @returns {Element} */
function draw(values) {
	const top = Math.max(...values, 1);
	const x = (/** @type {number} */ i) => edge + ((width - 2 * edge) * i) / values.length;
	const y = (/** @type {number} */ value) => height - edge - ((height - 2 * edge) * value) / top;
	const steps = values.map((value, i) => (i ? `H${x(i).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(0)} ${y(value).toFixed(1)}`));
	const line = `${steps.join("")}H${width - edge}`;
	const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, focusable: "false" });
	picture.append(
		shape("path", { class: "area", d: `${line}V${height - edge}H${edge}Z` }),
		shape("path", { class: "line", d: line }),
		shape("circle", { class: "now", cx: width - edge, cy: y(values[values.length - 1]), r: 4 }),
	);
	return picture;
}

customElements.define(
	"stock-trend",
	class extends HTMLElement {
		#stop = new AbortController();

		async connectedCallback() {
			this.#stop = new AbortController();
			const { signal } = this.#stop;
			const scope = /** @type {any} */ (this.closest("lockstep-scope"));
			scope.addEventListener("lockstep:data", (/** @type {any} */ { detail: { name, value } }) => name === "trend" && this.#show(value), { signal });
			await customElements.whenDefined("lockstep-scope");
			if (!signal.aborted) this.#show(scope.data("trend"));
		}

		disconnectedCallback() {
			this.#stop.abort();
		}

		/** @param {number[]} [values] */
		#show(values = []) {
			this.replaceChildren(...(values.length > 1 ? [draw(values)] : []));
		}
	},
);
