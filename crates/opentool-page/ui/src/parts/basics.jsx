// Small parts that all views use.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { sourceName } from '../format.js';
import { notify } from '../state.js';
import { Icon } from './icons.jsx';

/** Puts a text on the clipboard; without a secure context only the older way works. */
export async function copyText(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    // Inside an open dialog, only what is in it can be selected.
    const place = document.querySelector('dialog[open]') ?? document.body;
    place.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  notify(what);
}

export function CopyButton({ text, label = 'Copy' }) {
  return (
    <button type="button" class="quiet small" onClick={() => copyText(typeof text === 'function' ? text() : text)}>
      <Icon name="copy" />
      {label}
    </button>
  );
}

/** Tabs, each `{id, label, content}`; arrow keys move between them. */
export function Tabs({ label, tabs, selected, onSelect, actions }) {
  const prefix = useId();
  const list = useRef(null);
  const current = tabs.find((tab) => tab.id === selected) ?? tabs[0];
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length];
    onSelect(next.id);
    list.current.querySelector(`[data-tab="${next.id}"]`).focus();
  };
  return (
    <>
      <div class="tab-row">
        <div role="tablist" aria-label={label} ref={list} onKeyDown={move}>
          {tabs.map((tab) => (
            <button
              type="button"
              role="tab"
              key={tab.id}
              id={`${prefix}-${tab.id}`}
              data-tab={tab.id}
              aria-selected={tab === current}
              aria-controls={`${prefix}-panel`}
              tabIndex={tab === current ? 0 : -1}
              onClick={() => onSelect(tab.id)}
            >
              {tab.label}
            </button>
          ))}
        </div>
        {actions}
      </div>
      <div role="tabpanel" id={`${prefix}-panel`} aria-labelledby={`${prefix}-${current.id}`} key={current.id}>
        {current.content}
      </div>
    </>
  );
}

/** A modal dialog: the browser keeps the focus inside, and Escape closes it. */
export function Dialog({ label, class: name = '', onClose, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    const opened = dialog.current;
    opened.showModal();
    opened.querySelector('[data-focus]')?.focus();
    return () => {
      // While it is open, nothing behind it takes the focus.
      opened.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  const outside = (event) => {
    if (event.target === dialog.current) onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={name}
      aria-label={label}
      onMouseDown={outside}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      {children}
    </dialog>
  );
}

/** A piece of code that can be scrolled and copied. */
export function Code({ text, label }) {
  return (
    <div class="code-block">
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{text}</code>
      </pre>
      <button type="button" class="quiet small" aria-label="Copy" title="Copy" onClick={() => copyText(text)}>
        <Icon name="copy" />
      </button>
    </div>
  );
}

/** A problem, with what to do about it. */
export function Problem({ error, children }) {
  return (
    <div class="notice bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{error.message}</p>
        {error.hint && <p class="hint">{error.hint}</p>}
        {children}
      </div>
    </div>
  );
}

/** What a tool says about itself. */
export function Badges({ tool }) {
  const { readOnly, destructive, idempotent, openWorld } = tool.hints ?? {};
  const badges = [
    readOnly === true && ['read-only', 'good', 'It changes nothing.'],
    destructive === true && ['destructive', 'bad', 'It may delete or overwrite something.'],
    idempotent === true && ['idempotent', '', 'A second call with the same arguments changes nothing more.'],
    openWorld === true && ['open world', '', 'It reaches things outside of this machine.'],
    tool.approval && ['asks first', '', 'It runs only after a confirmation.'],
    tool.source && [sourceName(tool.source), 'source', `Where the tool comes from: ${tool.source}`],
  ].filter(Boolean);
  if (badges.length === 0) return null;
  return (
    <ul class="badges" aria-label="Properties">
      {badges.map(([text, tone, title]) => (
        <li key={text} class={`badge ${tone}`} title={title}>
          {text}
        </li>
      ))}
    </ul>
  );
}

/** The seconds since a moment, counted while it is shown. */
export function Stopwatch({ since }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return <span class="number">{(Math.max(now - since, 0) / 1000).toFixed(1)} s</span>;
}
