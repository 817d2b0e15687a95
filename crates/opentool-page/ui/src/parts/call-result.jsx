// What came of a call: while it runs, and after.

import { useEffect, useRef, useState } from 'preact/hooks';
import { answer, cancel } from '../calls.js';
import { duration, plural, size } from '../format.js';
import { parse, stringify } from '../json.js';
import { AskCard } from './ask-card.jsx';
import { Code, Stopwatch, Tabs } from './basics.jsx';
import { Icon } from './icons.jsx';
import { ResultParts } from './result-parts.jsx';

export function CallResult({ call, onProblem }) {
  const [tab, setTab] = useState('result');
  const card = useRef(null);
  useEffect(() => {
    // In a narrow window the result is below the arguments.
    if (call?.outcome) card.current?.scrollIntoView({ block: 'nearest' });
  }, [call?.outcome]);
  if (!call) {
    return (
      <section class="card result empty" aria-label="Result">
        <p class="muted">The result appears here.</p>
      </section>
    );
  }
  const raw = call.outcome?.raw;
  const tabs = [
    { id: 'result', label: 'Result', content: <ResultPanel call={call} onProblem={onProblem} /> },
    ...(raw
      ? [
          { id: 'request', label: 'Request', content: <RawMessage text={raw.request} label="The request as it is on the wire" /> },
          { id: 'response', label: 'Answer', content: <RawMessage text={raw.response} truncated={raw.truncated} label="The answer as it is on the wire" /> },
        ]
      : []),
  ];
  return (
    <section class="card result" aria-label="Result" tabIndex={-1} ref={card} aria-busy={call.state === 'running'}>
      <Tabs label="Result and messages" tabs={tabs} selected={tab} onSelect={setTab} actions={<Status call={call} />} />
    </section>
  );
}

function Status({ call }) {
  if (call.state === 'running') {
    return (
      <span class="status running">
        <span class="spinner" />
        <Stopwatch since={call.since} />
      </span>
    );
  }
  const { ok, error, durationMs, bytes } = call.outcome;
  const isCancelled = error?.kind === 'cancelled';
  return (
    <span class={`status ${ok ? 'good' : isCancelled ? '' : 'bad'}`}>
      <Icon name={ok ? 'check' : 'cross'} />
      <span>{ok ? 'OK' : isCancelled ? 'Cancelled' : 'Failed'}</span>
      <span class="number">{duration(durationMs)}</span>
      {bytes > 0 && <span class="number">{size(bytes)}</span>}
    </span>
  );
}

function ResultPanel({ call, onProblem }) {
  const running = call.state === 'running';
  return (
    <>
      {running && <Running call={call} />}
      {call.pieces.length > 0 && running && <Pieces call={call} />}
      {call.ask && <AskCard key={call.ask.ask} ask={call.ask} onAnswer={(action, content) => answer(call.tool, action, content)} />}
      {call.outcome?.ok === true && <ResultParts parts={shownParts(call.outcome)} />}
      {call.outcome?.ok === false && <Failure error={call.outcome.error} onProblem={onProblem} />}
      {call.outcome && call.pieces.length > 0 && (
        <details>
          <summary>{plural(call.pieces.length + call.dropped, 'streamed piece')}</summary>
          <Pieces call={call} />
        </details>
      )}
    </>
  );
}

/** A single JSON value is shown with its name, as callers get it. */
function shownParts({ parts, result }) {
  const isNamed = parts?.length === 1 && parts[0].type === 'json' && result instanceof Map;
  return isNamed ? [{ type: 'json', value: result }] : parts;
}

function Running({ call }) {
  const { progress } = call;
  const hasTotal = progress?.total > 0;
  const share = hasTotal ? Math.round((progress.progress / progress.total) * 100) : null;
  return (
    <div class="running-call">
      <div class="row">
        <span class="grow">{call.cancelling ? 'Cancelling…' : (progress?.message ?? 'Running…')}</span>
        {hasTotal && <span class="number muted">{share} %</span>}
        {progress && !hasTotal && <span class="number muted">{progress.progress}</span>}
      </div>
      {hasTotal ? (
        <progress aria-label={`Progress of ${call.tool}`} value={progress.progress} max={progress.total} />
      ) : (
        <progress aria-label={`Progress of ${call.tool}`} />
      )}
      <button type="button" class="cancel" aria-disabled={call.cancelling === true} onClick={() => call.cancelling || cancel(call.tool)}>
        <Icon name="stop" />
        Cancel
      </button>
    </div>
  );
}

function Pieces({ call }) {
  const end = useRef(null);
  useEffect(() => {
    end.current.scrollTop = end.current.scrollHeight;
  }, [call.pieces]);
  return (
    <div class="pieces" ref={end} tabIndex={0} role="log" aria-label="Streamed pieces">
      {call.dropped > 0 && <p class="muted">{plural(call.dropped, 'earlier piece')} not shown</p>}
      {call.pieces.map((parts, index) => (
        <ResultParts key={call.dropped + index} parts={parts} />
      ))}
    </div>
  );
}

function Failure({ error, onProblem }) {
  const problems = error.problems ?? [];
  // The server lists ten; its message counts the others.
  const omitted = Number(/; and (\d+) more$/.exec(error.message)?.[1] ?? 0);
  return (
    <div class="notice bad">
      <Icon name="warning" />
      <div>
        <p>
          <strong>{error.kind.replace(/[_-]/g, ' ')}</strong>
          {error.retryable && <span class="badge">trying again may help</span>}
        </p>
        {problems.length > 0 ? (
          <ul class="problem-summary" aria-label="What is wrong with the arguments">
            {problems.map((problem, index) => (
              <li key={index}>
                <button type="button" class="as-link" onClick={() => onProblem(problem.pointer)}>
                  {problem.pointer === '' ? 'arguments' : problem.pointer}
                </button>{' '}
                {problem.message}
              </li>
            ))}
            {omitted > 0 && <li>and {omitted} more</li>}
          </ul>
        ) : (
          <pre class="text bare">{error.message}</pre>
        )}
        {error.near?.length > 0 && <p class="hint">Did you mean {error.near.join(' or ')}?</p>}
      </div>
    </div>
  );
}

/** A JSON message, laid out on several lines. */
function RawMessage({ text, truncated, label }) {
  return (
    <>
      <Code text={laidOut(text ?? '')} label={label} />
      {truncated && <p class="hint">Only its beginning is shown.</p>}
    </>
  );
}

function laidOut(text) {
  try {
    return stringify(parse(text, { lenient: true }), 2);
  } catch {
    return text;
  }
}
