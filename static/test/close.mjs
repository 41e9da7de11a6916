// A page of its own, whose connection is closed with a code: what becomes of it?

import { parentPort, workerData } from "node:worker_threads";
import { loads, pass, show, sockets } from "./page.mjs";

const { Scope } = await import("../scope.js");
await import("../reload.js"); // so that it is there at once when it is needed
const scope = await show(Scope, ["count"]);
sockets[0].open();
sockets[0].hear(`{"t":"ok","n":1,"s":"${scope.s}","i":"0198c1d2","r":"41","f":[]}`);
sockets[0].end(workerData.code, workerData.reason);
const returned = [];
for (const ms of [200, 800, 2000, 60000]) {
	await pass(ms);
	returned.push(sockets.length - 1);
}
parentPort.postMessage({
	returned, // how often it had come back after 200 ms, 1 s, 3 s, 63 s
	page: document.documentElement.dataset.lsStatus,
	scope: scope.getAttribute("status"),
	loads: loads.count,
});
