// A question of a tool in the middle of its call.

import { useEffect, useRef, useState } from 'preact/hooks';
import { focusUnlessTyping } from '../focus.js';
import { enclosing } from '../json.js';
import { problemsOf } from '../problems.js';
import { initial } from '../schema.js';
import { Problem } from './basics.jsx';
import { Form, fieldId } from './form.jsx';

export function AskCard({ ask, onAnswer }) {
  const [value, setValue] = useState(() => initial(ask.schema, ask.schema) ?? new Map());
  const [error, setError] = useState(null);
  const [isChecked, setChecked] = useState(false);
  const heading = useRef(null);
  const busy = useRef(false);
  const prefix = `ask-${ask.ask}`;
  const problems = isChecked ? problemsOf(value, ask.schema) : [];
  useEffect(() => focusUnlessTyping(heading.current), [ask.ask]);
  const send = async (action) => {
    // An answer that does not fit would end the call: the question stays open instead.
    const wrong = action === 'accept' ? problemsOf(value, ask.schema) : [];
    if (wrong.length > 0) {
      setChecked(true);
      const { pointer } = wrong[0];
      [pointer, ...enclosing(pointer)].map((each) => document.getElementById(fieldId(prefix, each))).find(Boolean)?.focus();
      return;
    }
    if (busy.current) return;
    busy.current = true;
    setError(null);
    try {
      await onAnswer(action, value);
    } catch (failure) {
      setError(failure);
    }
    busy.current = false;
  };
  return (
    <form
      class="ask card"
      onSubmit={(event) => {
        event.preventDefault();
        send('accept');
      }}
    >
      <h2 tabIndex={-1} ref={heading}>
        {ask.message}
      </h2>
      <Form schema={ask.schema} value={value} onChange={setValue} problems={problems} prefix={prefix} />
      {error && <Problem error={error} />}
      <div class="row">
        <button type="submit" class="primary">
          Answer
        </button>
        <button type="button" class="quiet" onClick={() => send('decline')}>
          Decline
        </button>
        <button type="button" class="quiet" onClick={() => send('cancel')}>
          Close the question
        </button>
      </div>
    </form>
  );
}
