// Measures what every page loads: the entry with all that it imports, bundled by esbuild, minified by terser, gzipped at
// level 9. What is only imported when it is needed is bundled and measured by itself, and does not count.

import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

const LIMIT = 8192; // bytes

/** @type {Set<string>} */
const later = new Set();

/** @param {string} module @returns {Promise<number>} its size, with what it imports at once */
async function size(module) {
	const { outputFiles } = await build({
		entryPoints: [module],
		absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
		bundle: true,
		format: "esm",
		target: "es2022",
		write: false,
		plugins: [
			{
				name: "later",
				setup({ onResolve }) {
					onResolve({ filter: /./ }, ({ kind, path }) => {
						if (kind === "dynamic-import") return later.add(path), { path, external: true };
					});
				},
			},
		],
	});
	const { code } = await minify(outputFiles[0].text, { module: true, ecma: 2020, compress: { passes: 3 } });
	return gzipSync(code, { level: 9 }).length;
}

const bytes = await size("lockstep.js");
console.log(`the client: ${bytes} bytes minified and gzipped, at most ${LIMIT}`);
for (const module of later) console.log(`with ${module}, when it is needed: ${await size(module)} bytes, most of them the client's own`);
if (bytes > LIMIT) {
	console.error(`the client is ${bytes - LIMIT} bytes too large`);
	process.exit(1);
}
