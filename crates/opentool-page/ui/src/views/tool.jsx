// One tool: its arguments as a form or as JSON, and what came of the call.

import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { argumentsText, callOf, clear, draftOf, fill, needsConfirmation, run } from '../calls.js';
import { enclosing, equal, findBroken, parse, stringify, valueAt } from '../json.js';
import { toolLink } from '../route.js';
import { withoutSecrets } from '../schema.js';
import { snippets } from '../snippets.js';
import { addressesHere, info, notify, route, toolsByName } from '../state.js';
import { Badges, Code, Tabs, copyText } from '../parts/basics.jsx';
import { CallResult } from '../parts/call-result.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Form, fieldId } from '../parts/form.jsx';
import { Icon } from '../parts/icons.jsx';
import { JsonEditor } from '../parts/json-editor.jsx';

/** The tools for which the user does not want to be asked again. */
const confirmedTools = new Set();
const EDITOR = 'arguments-json';

export function ToolView({ name }) {
  const tool = toolsByName.value.get(name);
  if (!tool) {
    return (
      <section class="page">
        <h1 tabIndex={-1}>No tool named {name}</h1>
        <p>
          This server does not have it, or not any more. <a href="#/tools">All tools</a>
        </p>
      </section>
    );
  }
  return <ToolPage key={name} tool={tool} />;
}

function ToolPage({ tool }) {
  const draft = draftOf(tool);
  const call = callOf(tool.name);
  /** The arguments that the user is asked about: exactly the text that will be sent. */
  const confirming = useSignal(null);
  const linked = route.value.args;
  useEffect(() => {
    if (typeof linked === 'string') fill(tool, linked);
  }, [linked]);
  // Another address is another question.
  useEffect(() => {
    confirming.value = null;
  }, [route.value]);

  const state = draft.value;
  const current = call.value;
  const running = current?.state === 'running';
  const problems = openProblems(current, state);

  const start = () => {
    if (confirming.value !== null) return;
    if (callOf(tool.name).value?.state === 'running') {
      notify(`${tool.name} is running: wait, or cancel it`);
      return;
    }
    const text = argumentsText(draft.value);
    const broken = draft.value.mode === 'json' ? syntaxOf(text) : findBroken(draft.value.value);
    if (broken) {
      focusPointer(broken.pointer ?? '', draft.value);
      return;
    }
    if (needsConfirmation(tool) && !confirmedTools.has(tool.name)) confirming.value = text;
    else runNow(text);
  };
  const runNow = async (text, confirmed = confirmedTools.has(tool.name)) => {
    const ran = await run(tool, text, confirmed);
    if (!ran) confirming.value = text;
  };
  const confirm = (remember) => {
    // What was shown is what runs, whatever the form has by now.
    const text = confirming.value;
    if (remember) confirmedTools.add(tool.name);
    confirming.value = null;
    runNow(text, true);
  };

  useEffect(() => {
    const keys = (event) => {
      if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !event.defaultPrevented && confirming.value === null) {
        event.preventDefault();
        start();
      }
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, [tool]);
  useEffect(() => {
    if (pendingReplay === tool.name) {
      pendingReplay = null;
      start();
    }
  }, []);

  return (
    <article class="page tool">
      <header class="tool-head">
        <a class="back" href="#/tools">
          <Icon name="back" />
          All tools
        </a>
        <h1 tabIndex={-1}>{tool.title ?? tool.name}</h1>
        {tool.title && tool.title !== tool.name && <code class="tool-name">{tool.name}</code>}
        <p class="lead">{tool.description}</p>
        <Badges tool={tool} />
      </header>
      <div class="columns">
        <div class="column">
          <form
            class="card arguments"
            aria-label={`Arguments of ${tool.name}`}
            onSubmit={(event) => {
              event.preventDefault();
              start();
            }}
          >
            <Arguments tool={tool} draft={draft} problems={problems} onRun={start} />
            <div class="row actions">
              <button type="submit" class="primary run" aria-disabled={running}>
                <Icon name="play" />
                Run
                <kbd aria-hidden="true">{shortcut('↵')}</kbd>
              </button>
              <button type="button" class="quiet" onClick={() => clear(tool)}>
                Clear
              </button>
              <span class="grow" />
              <button type="button" class="quiet" onClick={() => copyText(linkTo(tool, draft.value), 'Link copied')}>
                <Icon name="link" />
                Copy link
              </button>
            </div>
          </form>
          <CodeFor tool={tool} state={state} />
        </div>
        <div class="column">
          <CallResult key={current?.id} call={current} onProblem={(pointer) => focusPointer(pointer, draft.value)} />
          {tool.outputSchema && (
            <details class="card schema">
              <summary>Schema of the result</summary>
              <Code text={stringify(tool.outputSchema, 2)} label="Schema of the result" />
            </details>
          )}
          <details class="card schema">
            <summary>Schema of the arguments</summary>
            <Code text={stringify(tool.inputSchema, 2)} label="Schema of the arguments" />
          </details>
        </div>
      </div>
      {confirming.value !== null && <Confirm tool={tool} text={pretty(confirming.value)} onConfirm={confirm} onClose={() => (confirming.value = null)} />}
    </article>
  );
}

/** What the server found wrong, without what the user has changed since. */
function openProblems(call, state) {
  if (call?.outcome?.ok !== false || state.mode !== 'form') return [];
  const sent = knownArguments({ mode: 'json', text: call.text });
  return (call.outcome.error.problems ?? []).filter(({ pointer }) => equal(valueAt(sent, pointer), valueAt(state.value, pointer)));
}

/** The tool that runs as soon as it is shown: set by the history. */
let pendingReplay = null;

/** Shows a tool with the arguments of an earlier call, and runs it where they are complete. */
export function replayCall(tool, entry) {
  fill(tool, entry.args);
  pendingReplay = entry.removed.length === 0 ? tool.name : null;
  location.hash = toolLink(tool.name);
}

function Arguments({ tool, draft, problems, onRun }) {
  const { mode, value, text, generation } = draft.value;
  const [refusal, setRefusal] = useState(null);
  const select = (next) => {
    if (next === mode) return;
    setRefusal(null);
    if (next === 'json') {
      draft.value = { ...draft.value, mode: 'json', text: stringify(value, 2) };
      return;
    }
    try {
      const parsed = text.trim() === '' ? new Map() : parse(text);
      if (!(parsed instanceof Map)) throw new Error('the arguments are an object: { … }');
      draft.value = { mode: 'form', value: parsed, text, generation: generation + 1 };
    } catch (error) {
      setRefusal(`The form cannot show this yet. ${error.where ?? error.message}`);
    }
  };
  const form = (
    <div class="fields" key={generation} role="group" aria-label={`Fields of ${tool.name}`} tabIndex={-1}>
      <Form
        schema={tool.inputSchema}
        value={value}
        problems={problems}
        onChange={(next) => {
          draft.value = { ...draft.value, value: next };
        }}
      />
    </div>
  );
  const editor = (
    <JsonEditor
      id={EDITOR}
      label={`Arguments of ${tool.name} as JSON`}
      text={text}
      onRun={onRun}
      onChange={(next) => {
        setRefusal(null);
        draft.value = { ...draft.value, text: next };
      }}
    />
  );
  return (
    <>
      <Tabs
        label="How to write the arguments"
        selected={mode}
        onSelect={select}
        tabs={[
          { id: 'form', label: 'Form', content: form },
          { id: 'json', label: 'JSON', content: editor },
        ]}
      />
      {refusal && (
        <p class="problems" role="alert">
          {refusal}
        </p>
      )}
    </>
  );
}

function CodeFor({ tool, state }) {
  const [selected, setSelected] = useState('curl');
  const args = knownArguments(state);
  if (!args || !info.value) return null;
  const texts = snippets({ name: tool.name, args, schema: tool.inputSchema, addresses: addressesHere(), keys: info.value.keys });
  return (
    <details class="card snippets">
      <summary>Copy as curl, CLI, Rust or MCP</summary>
      <Tabs
        label="The call in other words"
        selected={selected}
        onSelect={setSelected}
        tabs={texts.map(({ id, label, text }) => ({ id, label, content: <Code text={text} label={`The call for ${label}`} /> }))}
      />
    </details>
  );
}

/** The arguments as a Map; null while they are not JSON. */
function knownArguments(state) {
  try {
    const value = parse(argumentsText(state));
    return value instanceof Map ? value : null;
  } catch {
    return null;
  }
}

function linkTo(tool, state) {
  const args = knownArguments(state);
  const text = args && stringify(withoutSecrets(args, tool.inputSchema).value);
  return `${location.origin}${location.pathname}${toolLink(tool.name, text)}`;
}

function syntaxOf(text) {
  try {
    parse(text);
    return null;
  } catch (error) {
    return error;
  }
}

function pretty(text) {
  try {
    return stringify(parse(text), 2);
  } catch {
    return text;
  }
}

/** Moves the focus to the field of a pointer or the nearest around it; in the JSON editor, to its place in the text. */
function focusPointer(pointer, { mode, text }) {
  const pointers = [pointer, ...enclosing(pointer)];
  if (mode === 'json') {
    const area = document.getElementById(EDITOR);
    area?.focus();
    const places = new Map();
    try {
      parse(text, { places });
      const place = pointers.map((each) => places.get(each)).find(Boolean);
      if (place) area?.setSelectionRange(...place);
    } catch (error) {
      area?.setSelectionRange(error.offset, error.offset + 1);
    }
    return;
  }
  const fields = pointers.map((each) => document.getElementById(fieldId('arg', each)));
  // What is wrong with all of them has no field once something was changed.
  const field = fields.find(Boolean) ?? document.querySelector('.fields :is(input, select, textarea, button)');
  field?.focus();
  field?.scrollIntoView({ block: 'center' });
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
export function shortcut(key) {
  return isMac ? `⌘${key}` : `Ctrl ${key}`;
}
