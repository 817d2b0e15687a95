// What all views share: who is signed in, what the server has, where the page is.

import { computed, signal } from '@preact/signals';
import { get, post, remove, whenSignedOut } from './api.js';
import { readRoute, readToken } from './route.js';

/** `unknown` until the server answered, then `in`, `out` or `unreachable`. */
export const session = signal({ state: 'unknown', keySignIn: false, error: null });
export const info = signal(null);
export const tools = signal(null);
export const route = signal(readRoute(location.hash));
/** Grows with every change in the journal. */
export const runsChanged = signal(0);
/** Whether the stream of events is open; a server that stopped closes it. */
export const connected = signal(true);
/** What a screen reader says next. */
export const announcement = signal('');
/** A short note at the edge of the page. */
export const toast = signal(null);

export const toolsByName = computed(() => new Map((tools.value ?? []).map((tool) => [tool.name, tool])));

/** The addresses for other programs, as they are reached from this browser: behind a proxy the server may know another scheme. */
export function addressesHere() {
  const { paths, addresses } = info.value;
  if (!paths) return addresses;
  const here = (path) => (path ? location.origin + path : null);
  return { opentool: here(paths.opentool), mcp: here(paths.mcp) };
}

let toastTimer;
export function notify(text) {
  clearTimeout(toastTimer);
  toast.value = text;
  announce(text);
  toastTimer = setTimeout(() => {
    toast.value = null;
  }, 2500);
}

export function announce(text) {
  // The same text twice would not be said twice.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
}

export function go(fragment) {
  location.hash = fragment;
}

addEventListener('hashchange', () => {
  const linked = readToken(location.hash);
  if (linked) start();
  else route.value = readRoute(location.hash);
});

whenSignedOut(() => signedOut());

/** Shows the sign-in; `hasLeft` says that the user wanted it, so that another one may come. */
async function signedOut(error = null, hasLeft = false) {
  events?.close();
  events = null;
  let keySignIn = false;
  let failure = error;
  try {
    keySignIn = (await get('session')).keySignIn === true;
  } catch (refusal) {
    keySignIn = refusal.body?.keySignIn === true;
    if (refusal.status !== 401) failure = refusal;
  }
  session.value = { state: failure?.status === 0 ? 'unreachable' : 'out', keySignIn, error: failure, hasLeft };
}

/** Exchanges a token where the address has one, and loads what the views need. */
export async function start() {
  const linked = readToken(location.hash);
  if (linked) {
    // Out of the address bar and the browser's history before anything else.
    history.replaceState(null, '', `#${linked.to}`);
    route.value = readRoute(location.hash);
    try {
      await post('session', JSON.stringify({ token: linked.token }));
    } catch (error) {
      // A link that was used before is no reason to leave: the cookie of then may be there.
      const who = await get('session').catch(() => ({ signedIn: false }));
      if (who.signedIn === false) {
        await signedOut(error);
        return;
      }
    }
  }
  await load();
}

export async function signIn(key) {
  await post('session', JSON.stringify({ key }));
  await load();
}

export async function signOut() {
  await remove('session').catch(() => {});
  await signedOut(null, true);
}

async function load() {
  try {
    const who = await get('session');
    if (who.signedIn === false) {
      await signedOut();
      return;
    }
    const [about, list] = await Promise.all([get('info'), get('tools')]);
    info.value = about;
    tools.value = list.tools;
    session.value = { state: 'in', keyName: who.keyName ?? null };
    listen();
  } catch (error) {
    await signedOut(error.status === 401 ? null : error);
  }
}

let events = null;
function listen() {
  events?.close();
  events = new EventSource('api/events');
  events.addEventListener('open', () => {
    connected.value = true;
  });
  events.addEventListener('error', () => {
    connected.value = false;
    // The browser gives up after an answer that is not a stream: the session may have ended.
    if (events?.readyState === EventSource.CLOSED) setTimeout(load, 2000);
  });
  events.addEventListener('tools', async () => {
    await refresh();
    announce('The tools have changed.');
  });
  events.addEventListener('runs', () => {
    runsChanged.value += 1;
  });
}

async function refresh() {
  const [about, list] = await Promise.all([get('info'), get('tools')]).catch(() => []);
  if (!list) return;
  info.value = about;
  tools.value = list.tools;
}

// A browser has six connections to a server: a page that is not seen, or that waits in the browser's history, must not hold one.
function listenWhileSeen() {
  if (session.value.state !== 'in') return;
  if (document.visibilityState === 'hidden') {
    events?.close();
  } else if (events?.readyState === EventSource.CLOSED) {
    listen();
    refresh();
    runsChanged.value += 1;
  }
}
document.addEventListener('visibilitychange', listenWhileSeen);
addEventListener('pagehide', () => events?.close());
addEventListener('pageshow', listenWhileSeen);
