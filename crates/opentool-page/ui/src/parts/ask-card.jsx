// A question of a tool in the middle of its call.

import { useEffect, useRef, useState } from 'preact/hooks';
import { initial } from '../schema.js';
import { Problem } from './basics.jsx';
import { Form } from './form.jsx';

export function AskCard({ ask, onAnswer }) {
  const [value, setValue] = useState(() => initial(ask.schema, ask.schema) ?? new Map());
  const [error, setError] = useState(null);
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), [ask.ask]);
  const send = async (action) => {
    try {
      await onAnswer(action, value);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <form
      class="ask card"
      onSubmit={(event) => {
        event.preventDefault();
        send('accept');
      }}
    >
      <h3 tabIndex={-1} ref={heading}>
        {ask.message}
      </h3>
      <Form schema={ask.schema} value={value} onChange={setValue} prefix={`ask-${ask.ask}`} />
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
