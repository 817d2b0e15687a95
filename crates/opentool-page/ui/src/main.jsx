// The frame of the page: skip link, top bar, the view of the address, live region.

import { Component, render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { keepFocus } from './focus.js';
import { announcement, connected, info, route, session, signOut, start, toast } from './state.js';
import { nextTheme, setTheme, theme } from './theme.js';
import { Problem } from './parts/basics.jsx';
import { Icon } from './parts/icons.jsx';
import { Palette, paletteOpen } from './parts/palette.jsx';
import { ChatView } from './views/chat.jsx';
import { HistoryView } from './views/history.jsx';
import { RunView, RunsView } from './views/runs.jsx';
import { SignInView } from './views/sign-in.jsx';
import { ToolView, shortcut } from './views/tool.jsx';
import { ToolSidebar, ToolsView } from './views/tools.jsx';

const THEMES = { system: ['screen', 'as the system has it'], light: ['sun', 'light'], dark: ['moon', 'dark'] };

function ThemeButton() {
  const [icon, name] = THEMES[theme.value];
  const next = nextTheme();
  return (
    <button type="button" class="quiet icon-only" aria-label={`Theme: ${name}. Change to ${THEMES[next][1]}`} title={`Theme: ${name}`} onClick={() => setTheme(next)}>
      <Icon name={icon} />
    </button>
  );
}

function TopBar({ signedIn }) {
  const { view } = route.value;
  const links = [
    ['tools', '#/tools', 'Tools', ['tools', 'tool']],
    info.value?.chat && ['chat', '#/chat', 'Chat', ['chat']],
    info.value?.runs && ['runs', '#/runs', 'Runs', ['runs', 'run']],
    ['history', '#/history', 'History', ['history']],
  ].filter(Boolean);
  return (
    <header class="top">
      <a class="brand" href="#/tools" aria-label="opentool, all tools">
        <img src="icon.svg" alt="" width="26" height="26" />
        <span>opentool</span>
      </a>
      {signedIn && (
        <nav class="views" aria-label="Views">
          {links.map(([icon, href, label, views]) => (
            <a key={href} href={href} aria-current={views.includes(view) ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{label}</span>
            </a>
          ))}
        </nav>
      )}
      <span class="grow" />
      {signedIn && (
        <button type="button" class="search-button" aria-keyshortcuts="Control+K Meta+K" onClick={() => (paletteOpen.value = true)}>
          <Icon name="search" />
          <span>Search tools</span>
          <kbd aria-hidden="true">{shortcut('K')}</kbd>
        </button>
      )}
      <ThemeButton />
      {signedIn && (
        <button type="button" class="quiet icon-only" aria-label="Sign out" title="Sign out" onClick={signOut}>
          <Icon name="exit" />
        </button>
      )}
    </header>
  );
}

function View() {
  const { view, name, id } = route.value;
  switch (view) {
    case 'tool':
      return <ToolView name={name} />;
    case 'chat':
      return <ChatView />;
    case 'runs':
      return <RunsView />;
    case 'run':
      return <RunView key={id} id={id} />;
    case 'history':
      return <HistoryView />;
    default:
      return <ToolsView />;
  }
}

/** Keeps the rest of the page alive where one view cannot be shown. */
class Guard extends Component {
  state = { error: null };

  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  render({ children }, { error }) {
    if (!error) return children;
    return (
      <section class="page narrow">
        <h1 tabIndex={-1}>This view cannot be shown</h1>
        <Problem error={{ message: String(error), hint: 'The rest of the page works. Please report it, with the schema of the tool.' }} />
      </section>
    );
  }
}

const TITLES = { tools: 'Tools', chat: 'Chat', runs: 'Runs', history: 'History' };

function App() {
  const { state } = session.value;
  const { view, name, id } = route.value;
  const main = useRef(null);
  const place = state === 'in' ? `${view}/${name ?? id ?? ''}` : state;
  const before = useRef(null);
  useEffect(() => {
    const title = state === 'in' ? (name ?? TITLES[view] ?? `Run ${id}`) : state === 'out' ? 'Sign in' : 'opentool';
    document.title = title === 'opentool' ? title : `${title} · opentool`;
    // A new view begins at its heading, for the keyboard and for screen readers; not the first one.
    if (before.current !== null && before.current !== 'unknown' && before.current !== place) {
      main.current.querySelector('h1')?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    before.current = place;
  }, [place]);
  const signedIn = state === 'in';
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The fragment is the page's own address.
          event.preventDefault();
          main.current.focus();
        }}
      >
        Skip to the content
      </a>
      <TopBar signedIn={signedIn} />
      {signedIn && !connected.value && (
        <p class="offline" role="status">
          The connection to the server is lost. It is tried again.
        </p>
      )}
      <div class={`frame ${signedIn && view === 'tool' ? 'with-sidebar' : ''}`}>
        {signedIn && view === 'tool' && <ToolSidebar />}
        <main id="main" tabIndex={-1} ref={main}>
          {state === 'unknown' ? <p class="muted nothing">Loading…</p> : signedIn ? (
            <Guard key={place}>
              <View />
            </Guard>
          ) : (
            <SignInView />
          )}
        </main>
      </div>
      {signedIn && <Palette />}
      <div class="visually-hidden" role="status" aria-live="polite" id="live">
        {announcement.value}
      </div>
      {toast.value && (
        <div class="toast" aria-hidden="true">
          {toast.value}
        </div>
      )}
    </>
  );
}

keepFocus();
render(<App />, document.getElementById('app'));
start();
