// JSON as text, with line numbers and the place of what is wrong with it.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { whyBroken } from './form.jsx';

export function JsonEditor({ id, label, text, onChange, onRun }) {
  const numbers = useRef(null);
  const area = useRef(null);
  const lines = text.split('\n').length;
  const broken = text.trim() === '' ? null : whyBroken(text);
  useLayoutEffect(() => {
    numbers.current.scrollTop = area.current.scrollTop;
  });
  const keys = (event) => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      onRun?.();
    }
  };
  return (
    <div class="json-editor">
      <div class="json-editor-frame">
        <div class="line-numbers" aria-hidden="true" ref={numbers}>
          {Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join('')}
        </div>
        <textarea
          id={id}
          ref={area}
          class="mono"
          aria-label={label}
          aria-describedby={`${id}-state`}
          aria-invalid={broken ? 'true' : undefined}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          rows={Math.min(Math.max(lines, 8), 28)}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
          onKeyDown={keys}
          onScroll={(event) => {
            numbers.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <p id={`${id}-state`} class={broken ? 'problems' : 'hint'} role="status">
        {broken ?? 'Valid JSON'}
      </p>
    </div>
  );
}
