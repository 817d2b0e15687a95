// The question before a tool runs that is not known to be harmless.

import { useState } from 'preact/hooks';
import { Badges, Dialog } from './basics.jsx';
import { Icon } from './icons.jsx';

export function Confirm({ tool, text, onConfirm, onClose }) {
  const [remember, setRemember] = useState(false);
  const isDestructive = tool.hints?.destructive === true;
  return (
    <Dialog label={`Run ${tool.name}?`} class="confirm" onClose={onClose}>
      <h2>
        <Icon name="warning" />
        <span>
          Run <code>{tool.name}</code>?
        </span>
      </h2>
      <p>
        {isDestructive
          ? 'This tool may delete or overwrite something. It runs with these arguments:'
          : 'This tool does not say that it only reads. It runs with these arguments:'}
      </p>
      <pre class="text" tabIndex={0} aria-label="Arguments">
        {text}
      </pre>
      <Badges tool={tool} />
      {!isDestructive && (
        <label class="check">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} />
          Do not ask again for this tool until the page is closed
        </label>
      )}
      <div class="row end">
        <button type="button" data-focus onClick={onClose}>
          Do not run it
        </button>
        <button type="button" class={isDestructive ? 'danger' : 'primary'} onClick={() => onConfirm(remember)}>
          Run {tool.name}
        </button>
      </div>
    </Dialog>
  );
}
