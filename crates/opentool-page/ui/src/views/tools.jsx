// All tools, by source.

import { useEffect, useRef, useState } from 'preact/hooks';
import { plural, preview, sourceName } from '../format.js';
import { search } from '../fuzzy.js';
import { toolLink } from '../route.js';
import { addressesHere, info, route, tools } from '../state.js';
import { Badges, Code } from '../parts/basics.jsx';
import { Icon } from '../parts/icons.jsx';
import { signal } from '@preact/signals';

/** What the list is filtered by: the same in the side bar and on the page of all tools. */
const filter = signal('');

function bySource(list) {
  const groups = new Map();
  for (const tool of list) {
    const source = tool.source ?? '';
    if (!groups.has(source)) groups.set(source, []);
    groups.get(source).push(tool);
  }
  return [...groups];
}

function FilterInput({ label }) {
  return (
    <div class="filter">
      <Icon name="search" />
      <input type="search" aria-label={label} placeholder="Filter" value={filter.value} autocomplete="off" spellcheck={false} onInput={(event) => (filter.value = event.currentTarget.value)} />
    </div>
  );
}

/** The list beside a tool, where there is room for it. */
export function ToolSidebar() {
  const list = search(tools.value ?? [], filter.value);
  const current = route.value.name;
  const nav = useRef(null);
  useEffect(() => nav.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [current]);
  return (
    <nav class="sidebar" aria-label="Tools" ref={nav}>
      <FilterInput label="Filter the tools" />
      <div class="sidebar-list">
        {bySource(list).map(([source, group]) => (
          <section key={source} aria-label={source || 'Tools'}>
            {source && <h2 title={source}>{sourceName(source)}</h2>}
            <ul>
              {group.map((tool) => (
                <li key={tool.name}>
                  <a href={toolLink(tool.name)} aria-current={tool.name === current ? 'page' : undefined}>
                    <span class="ellipsis">{tool.name}</span>
                    {tool.hints?.destructive === true && <span class="dot bad" title="destructive" />}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {list.length === 0 && <p class="muted nothing">No tool matches.</p>}
      </div>
    </nav>
  );
}

export function ToolsView() {
  const all = tools.value ?? [];
  const list = search(all, filter.value);
  const { title, sources = [], keys } = info.value;
  const addresses = addressesHere();
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{title || 'Tools'}</h1>
        <p class="lead">
          {plural(all.length, 'tool')}
          {sources.length > 1 && ` from ${plural(sources.length, 'source')}`}. Choose one, fill in its arguments, run it.
        </p>
      </header>
      <FilterInput label="Filter the tools on this page" />
      {sources.some((source) => source.up === false) && (
        <div class="notice bad">
          <Icon name="warning" />
          <p>
            Not reachable at the moment: {sources.filter((source) => source.up === false).map((source) => sourceName(source.name)).join(', ')}. The tools of the others work.
          </p>
        </div>
      )}
      {bySource(list).map(([source, group]) => (
        <section key={source} aria-label={source || 'Tools'}>
          {source && <SourceHead name={source} source={sources.find((each) => each.name === source)} />}
          <ul class="tool-grid">
            {group.map((tool) => (
              <li key={tool.name}>
                <a class="tool-card" href={toolLink(tool.name)}>
                  <span class="tool-card-name">{tool.title ?? tool.name}</span>
                  <span class="tool-card-about">{preview(tool.description, 140)}</span>
                  <Badges tool={{ ...tool, source: null }} />
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {list.length === 0 && <p class="muted nothing">{all.length === 0 ? 'This server has no tools.' : 'No tool matches.'}</p>}
      <Addresses addresses={addresses} keys={keys} />
    </section>
  );
}

function SourceHead({ name, source }) {
  return (
    <h2 class="source-head" title={name}>
      {sourceName(name)}
      {source && (
        <span class="muted">
          {[source.kind, source.isolation].filter(Boolean).join(' · ')}
        </span>
      )}
    </h2>
  );
}

function Addresses({ addresses, keys }) {
  const [open, setOpen] = useState(false);
  const key = keys ? ' -H "Authorization: Bearer $OPENTOOL_API_KEY"' : '';
  return (
    <details class="card addresses" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Use these tools from another program</summary>
      <p>OpenTool clients:</p>
      <Code text={addresses.opentool} label="Address for OpenTool clients" />
      {addresses.mcp && (
        <>
          <p>MCP clients:</p>
          <Code text={addresses.mcp} label="Address for MCP clients" />
        </>
      )}
      <p>From a shell:</p>
      <Code text={`curl${key} ${addresses.opentool}/load`} label="A curl command that loads the tools" />
    </details>
  );
}
