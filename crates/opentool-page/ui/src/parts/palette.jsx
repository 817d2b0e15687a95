// Search over all tools and views, opened by ⌘K or Ctrl-K.

import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { preview } from '../format.js';
import { search } from '../fuzzy.js';
import { toolLink } from '../route.js';
import { go, info, tools } from '../state.js';
import { nextTheme, setTheme } from '../theme.js';
import { Dialog } from './basics.jsx';
import { Icon } from './icons.jsx';

export const paletteOpen = signal(false);
const MAX_SHOWN = 50;

addEventListener('keydown', (event) => {
  if ((event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    paletteOpen.value = !paletteOpen.value;
  }
});

function commands() {
  return [
    { id: 'tools', name: 'All tools', icon: 'tools', run: () => go('/tools') },
    info.value?.chat && { id: 'chat', name: 'Chat', icon: 'chat', run: () => go('/chat') },
    info.value?.runs && { id: 'runs', name: 'Runs', icon: 'runs', run: () => go('/runs') },
    { id: 'history', name: 'History', icon: 'history', run: () => go('/history') },
    { id: 'theme', name: 'Change the theme', icon: 'moon', run: () => setTheme(nextTheme()) },
  ].filter(Boolean);
}

export function Palette() {
  if (!paletteOpen.value) return null;
  return <OpenPalette />;
}

function OpenPalette() {
  const [query, setQuery] = useState('');
  const [selected, setSelected] = useState(0);
  const list = useRef(null);
  const close = () => {
    paletteOpen.value = false;
  };
  const words = query.trim().toLowerCase();
  const found = search(tools.value ?? [], query)
    .slice(0, MAX_SHOWN)
    .map((tool) => ({ id: `tool-${tool.name}`, name: tool.name, tool, run: () => go(toolLink(tool.name).slice(1)) }));
  const others = commands().filter((command) => words === '' || command.name.toLowerCase().includes(words));
  const entries = words === '' ? [...others, ...found] : [...found, ...others];
  const current = Math.min(selected, Math.max(entries.length - 1, 0));
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [current, query]);
  const choose = (entry) => {
    close();
    entry?.run();
  };
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && entries.length > 0) {
      event.preventDefault();
      setSelected((current + step + entries.length) % entries.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(entries[current]);
    }
  };
  return (
    <Dialog label="Search tools" class="palette" onClose={close}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search tools"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={entries.length > 0 ? `palette-${current}` : undefined}
          autocomplete="off"
          spellcheck={false}
          data-focus
          placeholder="Search tools"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setSelected(0);
          }}
          onKeyDown={keys}
        />
        <kbd aria-hidden="true">Esc</kbd>
      </div>
      <ul id="palette-list" role="listbox" aria-label="Tools and views" ref={list}>
        {entries.map((entry, index) => (
          <li key={entry.id} id={`palette-${index}`} role="option" aria-selected={index === current} onMouseMove={() => setSelected(index)} onClick={() => choose(entry)}>
            <Icon name={entry.icon ?? 'tools'} />
            <span class="palette-name">{entry.name}</span>
            {entry.tool && <span class="palette-about">{preview(entry.tool.description, 90)}</span>}
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p class="muted nothing">Nothing matches “{query}”.</p>}
      <p class="visually-hidden" role="status">
        {words === '' ? '' : `${found.length} tools match`}
      </p>
    </Dialog>
  );
}
