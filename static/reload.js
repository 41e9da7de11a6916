// The one reload that may help a page whose server speaks another version of the protocol. It comes from that server, so
// that this module's name, what it exports and what it is given are the same in all versions, and it imports nothing.

const SPREAD = 5000; // ms over which all the pages of a server come back
const AGAIN = 1000; // ms between looks at whether the user has finished

/**
 * Loads the page anew, once in a tab's life for each version: after a random time, when nothing is entered that would be
 * lost, and if nobody objects.
 * @param {string} version the server's
 * @param {() => boolean} isUnsaved
 * @param {() => boolean} isAllowed asked once, at the last moment
 */
export function reloadFor(version, isUnsaved, isAllowed) {
	const mark = "lockstep:reloaded:" + version;
	const due = () => {
		if (isUnsaved()) setTimeout(due, AGAIN);
		else if (isAllowed()) {
			sessionStorage.setItem(mark, "1");
			location.reload();
		}
	};
	try {
		if (!sessionStorage.getItem(mark)) setTimeout(due, Math.random() * SPREAD);
	} catch {} // where nothing can be remembered, a reload could follow a reload for ever
}
