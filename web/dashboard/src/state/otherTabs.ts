/**
 * Over https the tabs of a browser share the session's cookie. When somebody signs in or out in one of them, what the others show is no longer the
 * session's, and their next requests are somebody else's: they are loaded again.
 */
const tabs = location.protocol === 'https:' ? new BroadcastChannel('session') : undefined;
if (tabs) tabs.onmessage = () => location.reload();

/** After a sign-in or a sign-out. A session that ended by itself is found out by each tab. */
export function tellOtherTabs() {
  tabs?.postMessage('changed');
}
