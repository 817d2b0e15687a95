// A conversation with the configured model, which may call the tools.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { MAX_MESSAGE_BYTES, answerAsk, cancelTurn, chat, decideCall, draft, forgetConversation, loadConversation, send } from '../conversation.js';
import { focusUnlessTyping } from '../focus.js';
import { duration, preview, size } from '../format.js';
import { stringify } from '../json.js';
import { info } from '../state.js';
import { AskCard } from '../parts/ask-card.jsx';
import { Badges, Code, Problem, Stopwatch } from '../parts/basics.jsx';
import { Icon } from '../parts/icons.jsx';
import { Markdown } from '../parts/markdown.jsx';
import { ResultParts, TextPart } from '../parts/result-parts.jsx';
import { runLink, toolLink } from '../route.js';

const MAX_ATTACHMENTS = 8;
const MAX_ATTACHMENT_BYTES = 8_000_000;

export function ChatView() {
  const model = info.value?.chat;
  useEffect(() => {
    if (model) loadConversation();
  }, [Boolean(model)]);
  if (!model) {
    return (
      <section class="page narrow">
        <h1 tabIndex={-1}>Chat</h1>
        <p class="lead">No model is configured for this server.</p>
        <p>
          Name one in the table <code>[model]</code> of <code>opentool.toml</code> and load this page again, or start the server with <code>opentool serve --model</code>.
        </p>
      </section>
    );
  }
  return <Conversation model={model} />;
}

function Conversation({ model }) {
  const { messages, turn, earlier, error } = chat.value;
  const end = useRef(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const look = () => {
      atEnd.current = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  // New text stays in sight, unless the user has scrolled up to read.
  useLayoutEffect(() => {
    if (atEnd.current && messages.length > 0) end.current.scrollIntoView({ block: 'end' });
  }, [messages]);
  return (
    <section class="page chat">
      <header class="page-head with-actions">
        <div>
          <h1 tabIndex={-1}>Chat</h1>
          <p class="lead">
            {model.model} <span class="muted">through {model.provider}</span>
          </p>
        </div>
        {messages.length > 0 && (
          <button type="button" class="quiet" onClick={forgetConversation}>
            <Icon name="plus" />
            New conversation
          </button>
        )}
      </header>
      {error && <Problem error={error} />}
      <div class="messages" role="log" aria-label="Conversation" aria-live="off">
        {messages.length === 0 && (
          <p class="muted nothing">Ask for something that the tools of this server can do. Every call that is not known to be read-only waits for your approval.</p>
        )}
        {messages.map((message, index) =>
          message.role === 'user' ? <UserMessage key={index} message={message} /> : <AssistantMessage key={index} message={message} />,
        )}
      </div>
      {earlier && !turn && (
        <p class="thinking row">
          <span class="spinner" />
          An answer that began before is still being made.
        </p>
      )}
      <Composer busy={turn ?? (earlier ? { id: earlier, cancelling: false } : null)} />
      <div ref={end} class="chat-end" />
    </section>
  );
}

function UserMessage({ message }) {
  return (
    <article class="message user" aria-label="You">
      <p class="message-text">{message.text}</p>
      {message.attachments.length > 0 && (
        <ul class="attachments">
          {message.attachments.map((attachment, index) => (
            <li key={index} class="badge">
              {attachment.name}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

function AssistantMessage({ message }) {
  const running = message.state === 'running';
  const last = message.blocks[message.blocks.length - 1];
  return (
    <article class="message assistant" aria-label="Model" aria-busy={running} tabIndex={-1}>
      {message.blocks.map((block, index) => {
        if (block.type === 'call') return <CallCard key={block.id} call={block} turn={message.turn} />;
        if (block.type === 'reasoning') {
          return (
            <details key={index} class="reasoning">
              <summary>Reasoning</summary>
              <pre class="text">{block.text}</pre>
            </details>
          );
        }
        return <Markdown key={index} text={block.text} />;
      })}
      {message.ask && <AskCard key={message.ask.ask} ask={message.ask} onAnswer={(action, content) => answerAsk(message.turn, message.ask.ask, action, content)} />}
      {running && !message.ask && (last?.type !== 'call' || last.state === 'ended') && (
        <p class="thinking">
          <span class="spinner" />
          <span class="visually-hidden">The model is answering</span>
        </p>
      )}
      {message.error && (message.error.kind === 'cancelled' ? <p class="end-line">Stopped</p> : <Problem error={message.error} />)}
      {message.note && (
        <p class="notice row wrap" role="status">
          <span>{message.note.text}</span>
          {message.note.run && <a href={runLink(message.note.run)}>Look at it in Runs</a>}
        </p>
      )}
      {message.end && <EndLine end={message.end} />}
    </article>
  );
}

function EndLine({ end }) {
  const { usage = {}, cost, durationMs, reason } = end;
  const counts = Object.entries(usage ?? {}).filter(([, count]) => typeof count === 'number' && count > 0);
  const words = [
    reason && reason !== 'answered' && reason.replace(/[_-]/g, ' '),
    durationMs !== undefined && duration(durationMs),
    ...counts.map(([name, count]) => `${count} ${name.replace(/_?tokens$/i, '').replace(/([A-Z])/g, ' $1').replace(/_/g, ' ').toLowerCase().trim()} tokens`),
    typeof cost === 'number' && `$${cost.toFixed(4)}`,
  ].filter(Boolean);
  return words.length === 0 ? null : <p class="end-line number">{words.join(' · ')}</p>;
}

const STATES = { running: 'running', approval: 'waits for your approval', ended: '', unknown: 'no result' };

function CallCard({ call, turn }) {
  const [open, setOpen] = useState(false);
  const [error, setError] = useState(null);
  const waits = call.state === 'approval';
  const args = call.arguments === undefined ? '{}' : typeof call.arguments === 'string' ? call.arguments : stringify(call.arguments, 2);
  const failed = call.state === 'ended' && call.ok === false;
  return (
    <div class={`call-card ${waits ? 'waits' : ''}`} role="group" aria-label={`Call of ${call.tool}`} tabIndex={-1}>
      <div class="call-head">
        <span class={`status ${failed ? 'bad' : call.state === 'ended' ? 'good' : ''}`}>
          {call.state === 'running' ? <span class="spinner" /> : <Icon name={waits ? 'warning' : failed || call.state === 'unknown' ? 'cross' : 'check'} />}
        </span>
        <button type="button" class="fold" aria-expanded={open || waits} onClick={() => setOpen(!open)}>
          <code>{call.tool}</code>
          {!open && !waits && <span class="muted ellipsis">{preview(args, 80)}</span>}
        </button>
        <span class="muted number">
          {call.state === 'running' ? <Stopwatch since={call.since} /> : call.durationMs !== undefined ? duration(call.durationMs) : STATES[call.state]}
        </span>
      </div>
      {call.progress && call.state === 'running' && (
        <progress aria-label={`Progress of ${call.tool}`} value={call.progress.total ? call.progress.progress : undefined} max={call.progress.total ?? undefined} />
      )}
      {(open || waits) && (
        <div class="call-body">
          <Code text={args} label={`Arguments of ${call.tool}`} />
          {call.state !== 'ended' && call.pieces?.length > 0 && <ResultParts parts={call.pieces} />}
          {call.state === 'ended' && <CallOutcome call={call} />}
          <a class="hint" href={toolLink(call.tool, args)}>
            Open it with these arguments
          </a>
        </div>
      )}
      {!open && failed && <p class="problems">{call.error?.message ?? call.text}</p>}
      {!open && call.parts?.some((part) => part.type === 'image') && <ResultParts parts={call.parts.filter((part) => part.type === 'image')} />}
      {waits && <Approval call={call} turn={turn} error={error} onError={setError} />}
    </div>
  );
}

function CallOutcome({ call }) {
  if (call.ok === false) return <Problem error={call.error ?? { message: call.text }} />;
  return call.parts?.length > 0 ? <ResultParts parts={call.parts} /> : <TextPart text={call.text ?? ''} />;
}

function Approval({ call, turn, error, onError }) {
  const [reason, setReason] = useState('');
  const group = useRef(null);
  useEffect(() => focusUnlessTyping(group.current), []);
  const decide = (decision) => {
    onError(null);
    decideCall(turn, call, decision, decision === 'deny' ? reason : '').catch(onError);
  };
  return (
    <div class="approval" role="group" aria-label={`Allow the call of ${call.tool}?`} tabIndex={-1} ref={group}>
      <p>
        The model wants to call <code>{call.tool}</code> with these arguments.
      </p>
      <Badges tool={{ hints: call.hints }} />
      {error && <Problem error={error} />}
      <div class="row">
        <button type="button" class={call.hints?.destructive === true ? 'danger' : 'primary'} onClick={() => decide('allow')}>
          Allow
        </button>
        <button type="button" onClick={() => decide('deny')}>
          Deny
        </button>
        <button type="button" class="quiet" onClick={() => decide('always')}>
          Always allow {call.tool}
        </button>
      </div>
      <input aria-label="Reason for a denial, which the model reads" placeholder="reason for a denial, which the model reads" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
    </div>
  );
}

function readFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, mimeType: file.type || 'application/octet-stream', data: reader.result.slice(reader.result.indexOf(',') + 1), bytes: file.size });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}

function Composer({ busy }) {
  const { text, files, error } = draft.value;
  const change = (changed) => {
    draft.value = { ...draft.value, ...changed };
  };
  const picker = useRef(null);
  const sendAll = () => {
    if (!busy && (text.trim() !== '' || files.length > 0)) send();
  };
  const attach = async (list) => {
    change({ error: null });
    try {
      const chosen = [...list];
      const large = chosen.find((file) => file.size > MAX_ATTACHMENT_BYTES);
      if (large) throw new Error(`${large.name} has ${size(large.size)}; at most ${size(MAX_ATTACHMENT_BYTES)} can be attached.`);
      if (files.length + chosen.length > MAX_ATTACHMENTS) throw new Error(`At most ${MAX_ATTACHMENTS} files can be attached.`);
      const read = await Promise.all(chosen.map(readFile));
      const all = [...draft.value.files, ...read];
      // A few kilobytes are left to the text and the names.
      if (all.reduce((sum, file) => sum + file.data.length, 0) > MAX_MESSAGE_BYTES - 65_536) {
        throw new Error(`The files are too large together: at most ${size(MAX_MESSAGE_BYTES * 0.74)} can be attached to a message.`);
      }
      change({ files: all });
    } catch (failure) {
      change({ error: failure });
    }
  };
  const keys = (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      event.stopPropagation();
      sendAll();
    }
  };
  return (
    <form
      class="composer"
      data-refocus="textarea"
      aria-label="Your message"
      onSubmit={(event) => {
        event.preventDefault();
        sendAll();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        attach(event.dataTransfer.files);
      }}
    >
      {error && <Problem error={error} />}
      {files.length > 0 && (
        <ul class="attachments">
          {files.map((file, index) => (
            <li key={index} class="badge">
              {file.name}, {size(file.bytes)}
              <button type="button" class="unset" aria-label={`Remove ${file.name}`} onClick={() => change({ files: files.filter((_, at) => at !== index) })}>
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="composer-row">
        <input type="file" multiple class="visually-hidden" tabIndex={-1} aria-hidden="true" ref={picker} onChange={(event) => {
            attach(event.currentTarget.files);
            // Otherwise the same file could not be chosen again.
            event.currentTarget.value = '';
          }} />
        <button type="button" class="quiet icon-only" aria-label="Attach files" title="Attach files" onClick={() => picker.current.click()}>
          <Icon name="attach" />
        </button>
        <textarea aria-label="Message" placeholder="Message" rows={Math.min(Math.max(text.split('\n').length, 1), 8)} value={text} onInput={(event) => change({ text: event.currentTarget.value })} onKeyDown={keys} />
        {busy ? (
          <button key="stop" type="button" class="icon-only" aria-label="Stop the answer" title="Stop the answer" aria-disabled={busy.cancelling} onClick={() => busy.cancelling || cancelTurn()}>
            <Icon name="stop" />
          </button>
        ) : (
          <button key="send" type="submit" class="primary icon-only" aria-label="Send" title="Send" disabled={text.trim() === '' && files.length === 0}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
