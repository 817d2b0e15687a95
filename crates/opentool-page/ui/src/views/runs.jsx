// What the journal recorded: all runs, the timeline of one, and decisions about what waits or is uncertain.

import { useEffect, useState } from 'preact/hooks';
import { get, post } from '../api.js';
import { duration, moment, plural, preview } from '../format.js';
import { parse, stringify } from '../json.js';
import { runLink } from '../route.js';
import { describeStep } from '../run-steps.js';
import { shellWord } from '../snippets.js';
import { info, notify, runsChanged } from '../state.js';
import { Code, Problem } from '../parts/basics.jsx';
import { Icon } from '../parts/icons.jsx';
import { JsonTree } from '../parts/json-tree.jsx';
import { whyBroken } from '../parts/form.jsx';
import { ResultParts } from '../parts/result-parts.jsx';

const PAGE = 50;
const STATUSES = [
  ['', 'All'],
  ['waiting', 'Waiting'],
  ['uncertain', 'Uncertain'],
  ['interrupted', 'Interrupted'],
  ['running', 'Running'],
  ['done', 'Done'],
  ['failed', 'Failed'],
];
const TONES = { done: 'good', ok: 'good', failed: 'bad', error: 'bad', uncertain: 'warn', interrupted: 'warn', waiting: 'warn', decided: 'warn', pending: 'warn', running: 'running', started: 'running' };

/** What a run is called: where nothing is left to decide, it waits for nobody. */
const statusOf = ({ status, pending }) => (status === 'waiting' && pending === 0 ? 'decided' : status);

function StatusBadge({ status }) {
  return <span class={`badge ${TONES[status] ?? ''}`}>{status}</span>;
}

function NoJournal() {
  return (
    <section class="page narrow">
      <h1 tabIndex={-1}>Runs</h1>
      <p class="lead">This server keeps no journal.</p>
      <p>
        Start it with <code>opentool serve --journal FILE</code>: then chats on this page and calls with an idempotency key are recorded, and what waits for approval or was interrupted by a crash can be decided here. The calls that you make under Tools are in the <a href="#/history">history</a>.
      </p>
    </section>
  );
}

export function RunsView() {
  const [status, setStatus] = useState('');
  const [page, setPage] = useState({ runs: null, next: null, error: null });
  const load = async (before = null) => {
    const query = new URLSearchParams({ limit: PAGE, ...(status && { status }), ...(before !== null && { before }) });
    try {
      const { runs, next } = await get(`runs?${query}`);
      setPage((current) => ({ runs: before === null ? runs : [...current.runs, ...runs], next, error: null }));
    } catch (error) {
      setPage((current) => ({ ...current, error }));
    }
  };
  useEffect(() => {
    if (info.value?.runs) load();
  }, [status, runsChanged.value]);
  if (!info.value?.runs) return <NoJournal />;
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>Runs</h1>
        <p class="lead">What the journal recorded, the newest first.</p>
      </header>
      <div class="segments" role="group" aria-label="Which runs">
        {STATUSES.map(([value, label]) => (
          <button key={value} type="button" aria-pressed={status === value} onClick={() => setStatus(value)}>
            {label}
          </button>
        ))}
      </div>
      {page.error && <Problem error={page.error} />}
      {page.runs === null && !page.error && <p class="muted nothing">Loading…</p>}
      {page.runs?.length === 0 && <p class="muted nothing">No run{status && ` is ${status}`}.</p>}
      {page.runs?.length > 0 && (
        <ul class="run-list">
          {page.runs.map((run) => (
            <li key={run.id}>
              <a class="run-row" href={runLink(run.id)}>
                <StatusBadge status={statusOf(run)} />
                <span class="run-title">
                  <strong>{run.title || run.kind}</strong>
                  <span class="muted">
                    {run.kind} · {plural(run.calls, 'call')}
                  </span>
                </span>
                {run.pending > 0 && <span class="badge warn">{run.pending} to decide</span>}
                {statusOf(run) === 'decided' && <span class="muted">goes on with a command</span>}
                <span class="muted number run-time">{moment(run.updatedAt ?? run.createdAt)}</span>
                <Icon name="right" />
              </a>
            </li>
          ))}
        </ul>
      )}
      {page.next !== null && page.next !== undefined && (
        <button type="button" class="quiet" onClick={() => load(page.next)}>
          Older runs
        </button>
      )}
    </section>
  );
}

export function RunView({ id }) {
  const [state, setState] = useState({ run: null, timeline: [], resume: null, resumeNeeds: [], error: null });
  const load = async () => {
    try {
      const { run, timeline, resume, resumeNeeds = [] } = await get(`runs/${encodeURIComponent(id)}`);
      setState({ run, timeline, resume, resumeNeeds, error: null });
    } catch (error) {
      setState((current) => ({ ...current, error }));
    }
  };
  useEffect(() => {
    if (info.value?.runs) load();
  }, [id, runsChanged.value]);
  if (!info.value?.runs) return <NoJournal />;
  const { run, timeline, resume, resumeNeeds, error } = state;
  return (
    <section class="page">
      <header class="tool-head">
        <a class="back always" href="#/runs">
          <Icon name="back" />
          All runs
        </a>
        <h1 tabIndex={-1}>{run ? run.title || run.kind : `Run ${id}`}</h1>
        {run && (
          <p class="row wrap">
            <StatusBadge status={statusOf(run)} />
            <code class="muted ellipsis">{run.id}</code>
            <span class="muted number">{moment(run.createdAt)}</span>
            {run.pending > 0 && <span class="badge warn">{run.pending} to decide</span>}
          </p>
        )}
      </header>
      {error && <Problem error={error} />}
      {resume && (
        <div class="notice resume" role="status">
          <Icon name="right" />
          <div>
            <p>{resumeNeeds.length === 0 ? 'Nothing is left to decide. This command goes on with the run:' : 'Nothing is left to decide. This command goes on with the run, once it is complete:'}</p>
            <Code text={resume.map(shellWord).join(' ')} label="The command that goes on with the run" />
            {resumeNeeds.length > 0 && <p>Add what a journal does not hold, as it was given before: {resumeNeeds.join(' and ')}.</p>}
            <p class="hint">It asks the same model with the same sources. An opentool.toml that the server found in its folder is looked for where the command runs.</p>
          </div>
        </div>
      )}
      <ol class="timeline" aria-label="What happened, in order">
        {timeline.map((entry, index) => (
          <TimelineEntry key={`${entry.place ?? index}-${entry.kind}-${index}`} run={id} entry={entry} onDecided={load} />
        ))}
      </ol>
    </section>
  );
}

function TimelineEntry({ run, entry, onDecided }) {
  const decidable = entry.decidable ?? [];
  const step = entry.tool ? null : describeStep(entry.kind, entry.body);
  return (
    <li class={`timeline-entry ${step ? step.tone : (TONES[entry.status] ?? '')}`}>
      <div class="card" tabIndex={-1}>
        <div class="row wrap">
          <strong>{step?.title ?? entry.tool ?? entry.kind}</strong>
          {entry.tool && (
            <span class="muted">
              {entry.kind} {entry.place}
            </span>
          )}
          {step?.about && <span class="muted">{step.about}</span>}
          {step?.within && <span class="badge">in call {step.within}</span>}
          {!step && entry.status && <StatusBadge status={entry.status} />}
          {entry.attempt > 1 && <span class="badge">attempt {entry.attempt}</span>}
          <span class="grow" />
          <span class="muted number">{duration(entry.durationMs)}</span>
          <span class="muted number">{entry.at ? moment(entry.at) : ''}</span>
        </div>
        {step?.text && <p class="about said">{step.text}</p>}
        {step?.calls.length > 0 && (
          <ul class="step-calls">
            {step.calls.map((call, index) => (
              <li key={index}>
                <code>
                  {call.tool} {preview(call.arguments, 300)}
                </code>
              </li>
            ))}
          </ul>
        )}
        {entry.arguments !== undefined && entry.arguments !== null && (
          <details open={decidable.length > 0}>
            <summary>Arguments</summary>
            <Recorded value={entry.arguments} label="Arguments" />
          </details>
        )}
        {entry.result !== undefined && entry.result !== null && (
          <details>
            <summary>Result</summary>
            <Recorded value={entry.result} label="Result" />
          </details>
        )}
        {entry.body !== undefined && entry.body !== null && (
          <details>
            <summary>Record</summary>
            <Recorded value={entry.body} label="Record" />
          </details>
        )}
        {entry.parts?.some((part) => part.type !== 'json' && part.type !== 'text') && <ResultParts parts={entry.parts} />}
        {entry.decision && <p class="hint">Decided: {typeof entry.decision === 'string' ? entry.decision : JSON.stringify(entry.decision)}</p>}
        {entry.error && <p class="problems">{typeof entry.error === 'string' ? entry.error : entry.error.message}</p>}
        {decidable.length > 0 && <Decision run={run} entry={entry} onDecided={onDecided} />}
      </div>
    </li>
  );
}

function Recorded({ value, label }) {
  return typeof value === 'string' ? <Code text={value} label={label} /> : <JsonTree value={value} />;
}

const DECISIONS = {
  happened: { label: 'It happened', about: 'The call had its effect. Its result is what you give here.' },
  'run-again': { label: 'Run it again', about: 'The call had no effect. It runs again the next time it is asked for.' },
  'give-up': { label: 'Give it up', about: 'The call counts as failed, with this reason.' },
  allow: { label: 'Allow', about: 'The call may run. It runs when the run goes on.' },
  deny: { label: 'Deny', about: 'The call does not run. The model reads the reason.' },
};

function Decision({ run, entry, onDecided }) {
  const [choice, setChoice] = useState(null);
  const [result, setResult] = useState('null');
  const [reason, setReason] = useState('');
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const broken = choice === 'happened' ? whyBroken(result) : null;
  const decide = async () => {
    setBusy(true);
    setError(null);
    const extra = choice === 'happened' ? `,"result":${stringify(parse(result))}` : reason ? `,"reason":${JSON.stringify(reason)}` : '';
    try {
      await post(`runs/${encodeURIComponent(run)}/decisions`, `{"place":${JSON.stringify(entry.place)},"decision":${JSON.stringify(choice)}${extra}}`);
      notify('Decided');
      await onDecided();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const id = `decision-${entry.place}`;
  return (
    <div class="decision" role="group" aria-label={`Decide about ${entry.tool ?? entry.kind}`}>
      <p>
        {entry.decidable.includes('happened')
          ? 'This call began, and what came of it is not known. Look whether it had its effect, then decide.'
          : 'The model wants to make this call. It has not begun, and waits for your word.'}
      </p>
      <div class="segments" role="group" aria-label="The decision">
        {entry.decidable.map((each) => (
          <button key={each} type="button" aria-pressed={choice === each} onClick={() => setChoice(each)}>
            {DECISIONS[each]?.label ?? each}
          </button>
        ))}
      </div>
      {choice && <p class="about">{DECISIONS[choice]?.about}</p>}
      {choice === 'happened' && (
        <div class="field">
          <label for={id}>
            <span class="field-name">Its result</span>
            <span class="field-kind">JSON</span>
          </label>
          <textarea id={id} class="mono" rows={3} spellcheck={false} value={result} onInput={(event) => setResult(event.currentTarget.value)} aria-invalid={broken ? 'true' : undefined} />
          {broken && <p class="problems">{broken}</p>}
        </div>
      )}
      {(choice === 'give-up' || choice === 'deny') && (
        <div class="field">
          <label for={id}>
            <span class="field-name">Reason</span>
          </label>
          <input id={id} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </div>
      )}
      {error && <Problem error={error} />}
      {choice && (
        <button type="button" class={choice === 'deny' || choice === 'give-up' ? 'danger' : 'primary'} aria-disabled={busy} disabled={Boolean(broken)} onClick={() => busy || decide()}>
          Decide: {DECISIONS[choice]?.label ?? choice}
        </button>
      )}
    </div>
  );
}
