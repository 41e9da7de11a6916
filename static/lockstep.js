// The entry: a page loads this module, and its scopes and forms come alive. Loaded twice, the second does nothing.

import { watchFields } from "./fields.js";
import { watchForms } from "./forms.js";
import { watchHands } from "./hold.js";
import { Scope } from "./scope.js";
import { choose, flush, watchPage } from "./socket.js";

try {
	if (sessionStorage.getItem("lockstep:stream")) await choose(); // sockets did not pass before
} catch {}

if (!customElements.get("lockstep-scope")) {
	watchPage();
	watchHands(flush);
	watchFields();
	watchForms();
	customElements.define("lockstep-scope", Scope);
}
