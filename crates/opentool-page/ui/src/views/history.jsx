// The calls made from this browser.

import { useState } from 'preact/hooks';
import { fill } from '../calls.js';
import { duration, moment, plural, preview, size } from '../format.js';
import { entries, forget, forgetAll } from '../history.js';
import { toolLink } from '../route.js';
import { notify, toolsByName } from '../state.js';
import { Dialog } from '../parts/basics.jsx';
import { Icon } from '../parts/icons.jsx';
import { replayCall } from './tool.jsx';

export function HistoryView() {
  const [clearing, setClearing] = useState(false);
  const list = entries.value;
  return (
    <section class="page">
      <header class="page-head with-actions">
        <div>
          <h1 tabIndex={-1}>History</h1>
          <p class="lead">The calls made from this browser, kept in it. Secrets are not kept.</p>
        </div>
        {list.length > 0 && (
          <button type="button" class="quiet" onClick={() => setClearing(true)}>
            <Icon name="trash" />
            Clear
          </button>
        )}
      </header>
      {list.length === 0 ? (
        <p class="muted nothing">No call yet.</p>
      ) : (
        <ol class="history" aria-label="Calls, the newest first">
          {list.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
      {clearing && (
        <Dialog label="Clear the history?" class="confirm" onClose={() => setClearing(false)}>
          <h2>Clear the history?</h2>
          <p>{plural(list.length, 'call')} will be removed from this browser.</p>
          <div class="row end">
            <button type="button" data-focus onClick={() => setClearing(false)}>
              Keep it
            </button>
            <button
              type="button"
              class="danger"
              onClick={() => {
                forgetAll();
                setClearing(false);
                notify('The history is empty');
              }}
            >
              Clear
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Entry({ entry }) {
  const tool = toolsByName.value.get(entry.tool);
  const hasArguments = entry.args !== null;
  return (
    <li class="card entry">
      <div class="entry-main">
        <div class="row">
          <span class={`status ${entry.ok ? 'good' : 'bad'}`}>
            <Icon name={entry.ok ? 'check' : 'cross'} />
            <span class="visually-hidden">{entry.ok ? 'OK' : 'Failed'}</span>
          </span>
          <a
            href={toolLink(entry.tool)}
            class="entry-tool"
            onClick={() => {
              if (tool && hasArguments) fill(tool, entry.args);
            }}
          >
            {entry.tool}
          </a>
          <span class="muted number">{moment(entry.at)}</span>
          <span class="muted number">{duration(entry.durationMs)}</span>
          {entry.bytes > 0 && <span class="muted number">{size(entry.bytes)}</span>}
        </div>
        <code class="entry-line">{hasArguments ? preview(entry.args, 300) : 'arguments too long to keep'}</code>
        {entry.answer !== null && <code class="entry-line muted">{preview(entry.answer, 300)}</code>}
        {entry.removed.length > 0 && <p class="hint">Not kept: {entry.removed.join(', ')}</p>}
      </div>
      <div class="entry-tools">
        <button
          type="button"
          disabled={!tool || !hasArguments}
          title={tool ? undefined : 'The server does not have this tool any more'}
          aria-label={`Replay ${entry.tool}`}
          onClick={() => replayCall(tool, entry)}
        >
          <Icon name="replay" />
          Replay
        </button>
        <button type="button" class="quiet" aria-label={`Remove this call of ${entry.tool}`} onClick={() => forget(entry.id)}>
          <Icon name="cross" />
        </button>
      </div>
    </li>
  );
}
