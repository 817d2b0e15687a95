// A JSON value as a tree that can be folded and copied piece by piece.

import { useState } from 'preact/hooks';
import { JsonNumber, stringify } from '../json.js';
import { plural } from '../format.js';
import { copyText } from './basics.jsx';
import { Icon } from './icons.jsx';

/** How many members are shown before a button shows more. */
const PAGE = 100;
/** Levels that are open at first, where they are short. */
const OPEN_LEVELS = 3;

export function JsonTree({ value }) {
  return (
    <div class="tree">
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth, comma }) {
  const entries = Array.isArray(value) ? [...value.entries()] : value instanceof Map ? [...value] : null;
  if (entries && entries.length > 0) return <Branch {...{ name, value, depth, comma, entries }} />;
  return (
    <div class="node">
      <Name name={name} />
      <Scalar value={value} />
      {comma && ','}
    </div>
  );
}

function Branch({ name, value, depth, comma, entries }) {
  const [open, setOpen] = useState(depth < OPEN_LEVELS && (depth === 0 || entries.length <= 20));
  const [shown, setShown] = useState(PAGE);
  const [first, last] = Array.isArray(value) ? '[]' : '{}';
  const isArray = Array.isArray(value);
  const about = plural(entries.length, isArray ? 'item' : 'member');
  return (
    <div class="node">
      <span class="branch-row">
        <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name="right" />
          <Name name={name} />
          <span class="punctuation">{open ? first : `${first} … ${last}`}</span>
          {!open && <span class="count">{about}</span>}
          <span class="visually-hidden">{open ? about : ''}</span>
        </button>
        <button type="button" class="copy-node" aria-label={`Copy ${name ?? 'the whole value'}`} onClick={() => copyText(stringify(value, 2))}>
          <Icon name="copy" />
        </button>
      </span>
      {open && (
        <>
          <div class="branch">
            {entries.slice(0, shown).map(([key, item], index) => (
              <Node key={key} name={isArray ? undefined : key} value={item} depth={depth + 1} comma={index < entries.length - 1} />
            ))}
            {shown < entries.length && (
              <button type="button" class="quiet small" onClick={() => setShown(shown + PAGE * 10)}>
                {plural(entries.length - shown, 'more item')}
              </button>
            )}
          </div>
          <span class="punctuation">
            {last}
            {comma && ','}
          </span>
        </>
      )}
    </div>
  );
}

function Name({ name }) {
  if (name === undefined) return null;
  return (
    <>
      <span class="name">{JSON.stringify(name)}</span>
      <span class="punctuation">: </span>
    </>
  );
}

/** Longer strings are shown in part at first. */
const MAX_STRING = 2_000;

function Scalar({ value }) {
  const [whole, setWhole] = useState(false);
  const kind = value instanceof JsonNumber ? 'number' : typeof value === 'string' ? 'string' : 'word';
  const text = stringify(value);
  if (whole || text.length <= MAX_STRING) return <span class={`value-${kind}`}>{text}</span>;
  return (
    <>
      <span class={`value-${kind}`}>{text.slice(0, MAX_STRING)}…</span>
      <button type="button" class="quiet small" onClick={() => setWhole(true)}>
        Show all {text.length} characters
      </button>
    </>
  );
}
