// A form made from a schema. It edits one value, as `json.js` has it; `undefined` is a value that is not there.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Broken, JsonError, JsonNumber, equal, escapePointer, isNumberText, parse, stringify } from '../json.js';
import { asText, constraints, fits, initial, isRequired, itemSchema, memberSchema, otherProperties, propertiesOf, shapeOf, variantName, variantOf } from '../schema.js';
import { Icon } from './icons.jsx';

/** The id of a field. Lists of ids are separated by spaces, so that none may be in one. */
export const fieldId = (prefix, pointer) => `${prefix}${pointer}`.replace(/[%\s]/g, (char) => encodeURIComponent(char));

/** The fields of an object's schema, without a frame. `problems` are the server's, each with pointer and message. */
export function Form({ schema, value, onChange, problems = [], prefix = 'arg' }) {
  const shape = useMemo(() => shapeOf(schema, schema), [schema]);
  const context = { root: schema, problems, prefix };
  if (shape.kind !== 'object' || !(value instanceof Map)) {
    return <Field schema={schema} name="arguments" pointer="" value={value} onChange={onChange} required context={context} />;
  }
  const own = problems.filter((problem) => problem.pointer === '');
  return (
    <>
      {own.length > 0 && (
        <ul class="problems of-all" id={fieldId(prefix, '')} tabIndex={-1}>
          {own.map((problem, index) => (
            <li key={index}>{problem.message}</li>
          ))}
        </ul>
      )}
      <Members shape={shape} value={value} onChange={onChange} pointer="" context={context} />
    </>
  );
}

function Members({ shape, value, onChange, pointer, context }) {
  const known = propertiesOf(shape.words);
  const other = otherProperties(shape.words);
  const set = (name, item) => {
    const next = new Map(value);
    if (item === undefined) next.delete(name);
    else next.set(name, item);
    onChange(next);
  };
  // A property that was added stays until it is removed.
  const cleared = (name) => emptied(memberSchema(shape.words, name), context.root, value.get(name));
  const rename = (before, after) => {
    if (after === before || value.has(after)) return;
    onChange(new Map([...value].map(([name, item]) => [name === before ? after : name, item])));
  };
  const extra = [...value.keys()].filter((name) => !known.has(name));
  if (known.size === 0 && extra.length === 0 && other === null) return <p class="muted">{pointer === '' ? 'This tool takes no arguments.' : 'There is nothing to fill in.'}</p>;
  return (
    <>
      {[...known].map(([name, inner]) => (
        <Field
          key={name}
          schema={inner}
          name={name}
          pointer={`${pointer}/${escapePointer(name)}`}
          value={value.get(name)}
          onChange={(item) => set(name, item)}
          required={isRequired(shape.words, name)}
          context={context}
        />
      ))}
      {extra.map((name) => (
        <Field
          key={name}
          schema={memberSchema(shape.words, name)}
          name={name}
          pointer={`${pointer}/${escapePointer(name)}`}
          value={value.get(name)}
          onChange={(item) => set(name, item === undefined ? cleared(name) : item)}
          onRemove={() => set(name, undefined)}
          onRename={(after) => rename(name, after)}
          extra={other === null && memberSchema(shape.words, name) === true ? 'not in the schema' : 'added'}
          context={context}
        />
      ))}
      {other !== null && <AddProperty taken={value} onAdd={(name) => set(name, initial(other, context.root) ?? emptyOf(other, context.root))} />}
    </>
  );
}

function AddProperty({ taken, onAdd }) {
  const [name, setName] = useState('');
  const isTaken = taken.has(name);
  const add = () => {
    if (name === '' || isTaken) return;
    onAdd(name);
    setName('');
  };
  return (
    <div class="row add-property" data-refocus="input">
      <input
        aria-label="Name of a further property"
        placeholder="name of a further property"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            add();
          }
        }}
      />
      <button type="button" class="quiet" disabled={name === '' || isTaken} onClick={add}>
        <Icon name="plus" />
        Add
      </button>
    </div>
  );
}

/** A value to start with where there must be one. */
function emptyOf(schema, root) {
  const shape = shapeOf(schema, root);
  switch (shape.kind) {
    case 'string':
      return '';
    case 'integer':
    case 'number':
      // A number that is not there yet: its field is empty, and the server refuses it.
      return '';
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return initial(schema, root) ?? new Map();
    case 'const':
    case 'enum':
      return shape.options[0].value;
    case 'choice':
      return emptyOf(shape.variants[0], root);
    default:
      return null;
  }
}

/** What stays of a value whose text was cleared where the field stays; undefined where a control without a text was set back. */
function emptied(schema, root, before) {
  const shape = shapeOf(schema, root);
  if (before === null && shape.nullable) return emptyOf(schema, root);
  if (shape.kind === 'json' || !isShown(shape, before)) return new Broken('');
  const isText = typeof before === 'string' || before instanceof JsonNumber;
  return ['string', 'number', 'integer'].includes(shape.kind) || (shape.kind === 'choice' && isText) ? '' : undefined;
}

/** Whether the control for a kind shows the value as it is; text that is not a number yet stays in its field. */
function isShown(shape, value) {
  if (value === undefined) return true;
  if (value instanceof Broken) return false;
  if ((shape.kind === 'integer' || shape.kind === 'number') && typeof value === 'string') return !isNumberText(value.trim());
  // A text field makes a line feed of every carriage return.
  if (shape.kind === 'string' && typeof value === 'string') return !value.includes('\r');
  if (shape.kind === 'enum') return true;
  return fits(shape, value);
}

/** What a schema says in words; others write strange things there. */
const textOf = (value) => (typeof value === 'string' && value !== '' ? value : null);

const COMPOSITE = new Set(['object', 'array', 'boolean', 'choice']);

function Field({ schema, name, pointer, value, onChange, required = false, extra = null, isItem = false, onRemove, onRename, context }) {
  const shape = useMemo(() => shapeOf(schema, context.root), [schema, context.root]);
  const id = fieldId(context.prefix, pointer);
  const isNull = value === null && shape.nullable;
  const Control = isNull ? null : shape.kind !== 'json' && isShown(shape, value) ? CONTROLS[shape.kind] : JsonControl;
  const isLeaf = !COMPOSITE.has(shape.kind) || Control === JsonControl || isNull;
  // A field without fields of its own shows what is wrong anywhere inside.
  const own = context.problems.filter((problem) => problem.pointer === pointer || (isLeaf && problem.pointer.startsWith(`${pointer}/`)));
  const about = textOf(shape.words.get('description'));
  const hints = [...constraints(shape.words), ...(shape.words.has('default') ? [`default ${asText(shape.words.get('default'))}`] : [])];
  const describedBy = [own.length > 0 && `${id}-problem`, about && `${id}-about`, hints.length > 0 && `${id}-hint`].filter(Boolean).join(' ') || undefined;
  const control = {
    id,
    shape,
    name,
    value,
    onChange,
    required,
    pointer,
    context,
    attributes: { id, 'aria-describedby': describedBy, 'aria-invalid': own.length > 0 ? 'true' : undefined, 'aria-required': required || undefined },
  };

  const label = (
    <>
      <span class="field-name">{name}</span>
      {required && !isItem && (
        <span class="required" title="required">
          required
        </span>
      )}
      {!isItem && <span class="field-kind">{extra ?? kindName(shape)}</span>}
    </>
  );
  const tools = (
    <span class="field-tools">
      {shape.nullable && (
        <label class="null-toggle">
          <input type="checkbox" checked={isNull} onChange={(event) => onChange(event.currentTarget.checked ? null : undefined)} />
          null
        </label>
      )}
      {!required && value !== undefined && (
        <button type="button" class="unset" aria-label={`${onRemove ? 'Remove' : 'Unset'} ${name}`} title={onRemove ? 'Remove' : 'Unset'} onClick={() => (onRemove ? onRemove() : onChange(undefined))}>
          <Icon name="cross" />
        </button>
      )}
    </span>
  );
  const notes = (
    <>
      {about && (
        <p class="about" id={`${id}-about`}>
          {about}
        </p>
      )}
      {hints.length > 0 && (
        <p class="hint" id={`${id}-hint`}>
          {hints.join(' · ')}
        </p>
      )}
      {own.length > 0 && (
        <ul class="problems" id={`${id}-problem`}>
          {own.map((problem, index) => (
            <li key={index}>
              {problem.pointer !== pointer && <code>{problem.pointer.slice(pointer.length)} </code>}
              {problem.message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
  const body = isNull ? <p class="muted null-value">null</p> : <Control {...control} />;
  const className = `field ${own.length > 0 ? 'invalid' : ''} ${isLeaf ? '' : 'composite'}`;
  if (isLeaf && !isNull) {
    return (
      <div class={className} data-refocus="input:not([type=checkbox]), select, textarea">
        <div class="field-head">
          <label for={id}>{label}</label>
          {onRename && <RenameButton name={name} onRename={onRename} />}
          {tools}
        </div>
        {body}
        {notes}
      </div>
    );
  }
  return (
    <fieldset class={className} id={id} tabIndex={-1} aria-describedby={describedBy}>
      <legend>{label}</legend>
      {tools}
      {shape.kind === 'boolean' || isNull ? (
        <>
          {body}
          {notes}
        </>
      ) : (
        <>
          {notes}
          {body}
        </>
      )}
    </fieldset>
  );
}

function RenameButton({ name, onRename }) {
  const [next, setNext] = useState(null);
  const input = useRef(null);
  useEffect(() => input.current?.focus(), [next === null]);
  if (next === null) {
    return (
      <button type="button" class="quiet small" onClick={() => setNext(name)}>
        Rename
      </button>
    );
  }
  const finish = () => {
    onRename(next);
    setNext(null);
  };
  return (
    <input
      class="rename"
      ref={input}
      aria-label={`New name for ${name}`}
      value={next}
      onInput={(event) => setNext(event.currentTarget.value)}
      onBlur={finish}
      onKeyDown={(event) => {
        if (event.key === 'Enter') {
          event.preventDefault();
          finish();
        }
      }}
    />
  );
}

function kindName(shape) {
  const format = shape.words.get('format');
  if (shape.kind === 'string' && typeof format === 'string') return format;
  if (shape.kind === 'enum') return 'one of';
  if (shape.kind === 'choice') return 'one of several';
  if (shape.kind === 'const') return 'always';
  if (shape.kind === 'array') {
    const items = shapeOf(itemSchema(shape.words, 0), null);
    return items.kind === 'json' ? 'list' : `list of ${items.kind === 'enum' ? 'choices' : items.kind}`;
  }
  return shape.kind === 'json' ? 'JSON' : shape.kind;
}

const placeholderOf = (shape, required) => {
  if (shape.words.has('default')) return asText(shape.words.get('default'));
  const examples = shape.words.get('examples');
  const example = Array.isArray(examples) ? examples[0] : undefined;
  return example === undefined ? (required ? '' : 'not set') : `for instance ${asText(example)}`;
};

function NumberControl({ shape, value, onChange, required, attributes }) {
  const change = (event) => {
    const text = event.currentTarget.value.trim();
    onChange(text === '' ? undefined : isNumberText(text) ? new JsonNumber(text) : text);
  };
  return (
    <input
      {...attributes}
      type="text"
      class="mono"
      inputMode={shape.kind === 'integer' ? 'numeric' : 'decimal'}
      autocomplete="off"
      placeholder={placeholderOf(shape, required)}
      value={value === undefined ? '' : asText(value)}
      onInput={change}
    />
  );
}

/** Whether a date field of a browser shows the text: it hides a day that no calendar has. */
function isDate(text) {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) && !text.startsWith('0000') ? new Date(`${text}T00:00:00Z`) : null;
  return date !== null && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function StringControl({ shape, value, onChange, required, attributes }) {
  const [visible, setVisible] = useState(false);
  // A field of one line drops line breaks. Once there was one, the field stays as it is while it is edited.
  const hasLines = useRef(false);
  hasLines.current ||= value?.includes('\n') === true;
  const change = (event) => {
    const text = event.currentTarget.value;
    onChange(text === '' && !required ? undefined : text);
  };
  const format = shape.words.get('format');
  const shared = { ...attributes, value: value ?? '', onInput: change, placeholder: placeholderOf(shape, required), autocomplete: 'off', spellcheck: false };
  if (hasLines.current && format !== 'password') return <textarea {...shared} rows={linesOf(value)} />;
  if (format === 'password') {
    return (
      <div class="row">
        {hasLines.current ? (
          <textarea {...shared} class={visible ? '' : 'masked'} rows={linesOf(value)} />
        ) : (
          <input {...shared} type={visible ? 'text' : 'password'} autocomplete="new-password" />
        )}
        <button type="button" class="quiet" aria-pressed={visible} aria-label="Show the text" onClick={() => setVisible(!visible)}>
          <Icon name="eye" />
        </button>
      </div>
    );
  }
  if (format === 'date' && (value === undefined || value === '' || isDate(value))) return <input {...shared} type="date" />;
  if (format === 'date-time') {
    return (
      <div class="row">
        <input {...shared} class="mono" type="text" placeholder="2026-01-31T12:00:00Z" />
        <button type="button" class="quiet" onClick={() => onChange(new Date().toISOString().replace(/\.\d+/, ''))}>
          Now
        </button>
      </div>
    );
  }
  const most = shape.words.get('maxLength');
  const isShort = typeof format === 'string' || shape.words.has('pattern') || (most instanceof JsonNumber && Number(most.text) <= 200);
  if (isShort) return <input {...shared} type="text" inputMode={{ email: 'email', uri: 'url', url: 'url' }[format]} />;
  return <textarea {...shared} rows={linesOf(value)} />;
}

const linesOf = (text = '') => Math.min(text.split('\n').length, 12);

function BooleanControl({ id, shape, value, onChange, required, name }) {
  const fallback = shape.words.get('default');
  const options = [
    { text: 'true', value: true },
    { text: 'false', value: false },
    ...(required ? [] : [{ text: typeof fallback === 'boolean' ? `not set (${fallback})` : 'not set', value: undefined }]),
  ];
  return (
    <div class="segments">
      {options.map((option) => (
        <label key={option.text}>
          <input type="radio" name={id} checked={value === option.value} aria-label={`${name}: ${option.text}`} onChange={() => onChange(option.value)} />
          <span aria-hidden="true">{option.text}</span>
        </label>
      ))}
    </div>
  );
}

function EnumControl({ shape, value, onChange, attributes }) {
  const options = shape.options.some((option) => equal(option.value, value)) || value === undefined ? shape.options : [...shape.options, { value, about: 'not allowed' }];
  const selected = options.findIndex((option) => equal(option.value, value));
  const about = textOf(options[selected]?.about);
  return (
    <>
      <select {...attributes} value={String(selected)} onChange={(event) => onChange(options[Number(event.currentTarget.value)]?.value)}>
        <option value="-1">{shape.words.has('default') ? `not set (${asText(shape.words.get('default'))})` : 'not set'}</option>
        {options.map((option, index) => (
          <option key={index} value={String(index)}>
            {asText(option.value)}
          </option>
        ))}
      </select>
      {about && <p class="hint">{about}</p>}
    </>
  );
}

function ConstControl({ shape, value, onChange, attributes, required }) {
  const only = shape.options[0].value;
  if (required && value !== undefined) return <input {...attributes} class="mono" readOnly value={asText(only)} />;
  return (
    <select {...attributes} value={value === undefined ? 'no' : 'yes'} onChange={(event) => onChange(event.currentTarget.value === 'yes' ? only : undefined)}>
      <option value="no">not set</option>
      <option value="yes">{asText(only)}</option>
    </select>
  );
}

function ArrayControl({ shape, value, onChange, pointer, name, context }) {
  const items = value ?? [];
  // A key for each item that goes with it when it moves, so that what is typed stays with its field.
  const keys = useRef([]);
  const counter = useRef(0);
  while (keys.current.length < items.length) keys.current.push((counter.current += 1));
  keys.current.length = items.length;
  const change = (next) => onChange(next);
  const set = (index, item) => change(items.map((before, at) => (at === index ? (item === undefined ? cleared(index, before) : item) : before)));
  // An item without a value is still an item.
  const cleared = (index, before) => {
    const schema = itemSchema(shape.words, index);
    return emptied(schema, context.root, before) ?? emptyOf(schema, context.root);
  };
  const removeAt = (index) => {
    keys.current.splice(index, 1);
    change(items.filter((_, at) => at !== index));
  };
  const swap = (index, other) => {
    const next = [...items];
    [next[index], next[other]] = [next[other], next[index]];
    [keys.current[index], keys.current[other]] = [keys.current[other], keys.current[index]];
    change(next);
  };
  const add = () => {
    const schema = itemSchema(shape.words, items.length);
    change([...items, initial(schema, context.root) ?? emptyOf(schema, context.root)]);
  };
  return (
    <div class="items" role="group" aria-label={`Items of ${name}`} tabIndex={-1}>
      {items.map((item, index) => (
        <div class="item" key={keys.current[index]}>
          <Field
            schema={itemSchema(shape.words, index)}
            name={`${name} ${index + 1}`}
            pointer={`${pointer}/${index}`}
            value={item}
            onChange={(next) => set(index, next)}
            required
            isItem
            context={context}
          />
          <div class="item-tools">
            <button type="button" class="quiet small" disabled={index === 0} aria-label={`Move item ${index + 1} up`} onClick={() => swap(index, index - 1)}>
              <Icon name="up" />
            </button>
            <button
              type="button"
              class="quiet small"
              disabled={index === items.length - 1}
              aria-label={`Move item ${index + 1} down`}
              onClick={() => swap(index, index + 1)}
            >
              <Icon name="down" />
            </button>
            <button type="button" class="quiet small" aria-label={`Remove item ${index + 1}`} onClick={() => removeAt(index)}>
              <Icon name="cross" />
            </button>
          </div>
        </div>
      ))}
      <button type="button" class="quiet small" onClick={add}>
        <Icon name="plus" />
        {value === undefined ? `Add to ${name}` : 'Add an item'}
      </button>
    </div>
  );
}

function ObjectControl({ shape, value, onChange, pointer, name, required, context }) {
  if (value === undefined) {
    return (
      <button type="button" class="quiet small" onClick={() => onChange(emptyOf(shape.words, context.root))}>
        <Icon name="plus" />
        {required ? `Fill in ${name}` : `Set ${name}`}
      </button>
    );
  }
  return (
    <div class="nested">
      <Members shape={shape} value={value} onChange={onChange} pointer={pointer} context={context} />
    </div>
  );
}

function ChoiceControl({ id, shape, value, onChange, pointer, name, required, context }) {
  const [index, setIndex] = useState(() => variantOf(shape.variants, value, context.root));
  const choose = (event) => {
    const next = Number(event.currentTarget.value);
    setIndex(next);
    const variant = shape.variants[next];
    const isNumber = ['integer', 'number'].includes(shapeOf(variant, context.root).kind);
    const first = initial(variant, context.root) ?? (isNumber ? undefined : emptyOf(variant, context.root));
    onChange(required || value !== undefined ? first : undefined);
  };
  const variant = shape.variants[Math.min(index, shape.variants.length - 1)];
  const inner = shapeOf(variant, context.root);
  const Control = inner.kind !== 'json' && isShown(inner, value) ? CONTROLS[inner.kind] : JsonControl;
  const valueId = `${id}-value`;
  return (
    <div class="choice">
      <select aria-label={`Kind of ${name}`} value={String(index)} onChange={choose}>
        {shape.variants.map((each, at) => (
          <option key={at} value={String(at)}>
            {variantName(each, context.root, at)}
          </option>
        ))}
      </select>
      {textOf(inner.words.get('description')) && <p class="about">{inner.words.get('description')}</p>}
      <Control
        key={index}
        id={valueId}
        shape={inner}
        name={name}
        value={value}
        onChange={onChange}
        required={required}
        pointer={pointer}
        context={context}
        attributes={{ id: valueId, 'aria-label': name }}
      />
    </div>
  );
}

const shownJson = (value) => (value === undefined ? '' : stringify(value, 2));

/** Any value as JSON text: for what no other control can show. */
export function JsonControl({ value, onChange, attributes }) {
  const [text, setText] = useState(() => shownJson(value));
  const last = useRef(value);
  if (last.current !== value) {
    // It was changed from outside of this field.
    last.current = value;
    setText(shownJson(value));
  }
  const change = (event) => {
    const next = event.currentTarget.value;
    setText(next);
    try {
      last.current = next.trim() === '' ? undefined : parse(next);
    } catch {
      last.current = new Broken(next);
    }
    onChange(last.current);
  };
  return (
    <>
      <textarea {...attributes} class="mono" spellcheck={false} rows={Math.min(Math.max(text.split('\n').length, 2), 16)} placeholder="JSON" value={text} onInput={change} />
      {value instanceof Broken && <p class="problems">{whyBroken(value.text)}</p>}
    </>
  );
}

export function whyBroken(text) {
  try {
    parse(text);
    return null;
  } catch (error) {
    if (error instanceof JsonError) return error.where;
    throw error;
  }
}

const CONTROLS = {
  string: StringControl,
  number: NumberControl,
  integer: NumberControl,
  boolean: BooleanControl,
  enum: EnumControl,
  const: ConstControl,
  array: ArrayControl,
  object: ObjectControl,
  choice: ChoiceControl,
};
