// What is wrong with a value, and at which field it is shown.

import { Broken, JsonNumber, escapePointer, pointerSegments, valueAt } from './json.js';
import { fits, itemSchema, memberSchema, propertiesOf, shapeOf, variantOf } from './schema.js';

/** How deep a value is checked: a schema may lead back to itself. */
const MAX_DEPTH = 32;

/** The shape that a schema has for a value: of a choice, that of the variant which suits it. */
function shapeFor(schema, value, root) {
  let shape = shapeOf(schema, root);
  for (let steps = 0; shape.kind === 'choice' && steps < MAX_DEPTH; steps += 1) {
    shape = shapeOf(shape.variants[variantOf(shape.variants, value, root)], root);
  }
  return shape;
}

const propertySchema = (words, name) => propertiesOf(words).get(name) ?? memberSchema(words, name);

/** The required properties that an object does not have. */
function missingNames(shape, value) {
  if (shape.kind !== 'object' || !(value instanceof Map)) return [];
  const required = shape.words.get('required');
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string' && !value.has(name)) : [];
}

/** The shape of the value at a pointer. */
function shapeAt(pointer, schema, value) {
  let [shape, current] = [shapeFor(schema, value, schema), value];
  for (const segment of pointerSegments(pointer)) {
    const inner = Array.isArray(current) ? itemSchema(shape.words, Number(segment)) : propertySchema(shape.words, segment);
    current = valueAt(current, `/${escapePointer(segment)}`);
    shape = shapeFor(inner, current, schema);
  }
  return shape;
}

/**
 * The server's problems, each at the field where something has to be done: that an object lacks a property is said of the object, and
 * shown at the property. `value` is what was sent.
 */
export function placedProblems(problems, schema, value) {
  return problems.map((problem) => {
    const { pointer, message } = problem;
    const missing = missingNames(shapeAt(pointer, schema, value), valueAt(value, pointer));
    const named = missing.filter((name) => message.includes(JSON.stringify(name)));
    // The first name in the message is the one it is about; others may stand in a list of what is allowed.
    named.sort((a, b) => message.indexOf(JSON.stringify(a)) - message.indexOf(JSON.stringify(b)));
    return named.length === 0 ? problem : { ...problem, pointer: `${pointer}/${escapePointer(named[0])}` };
  });
}

const KINDS = { string: 'text', integer: 'an integer', number: 'a number', boolean: 'true or false', array: 'a list', object: 'an object', enum: 'one of the choices', const: 'the one value that is allowed' };

/** What a form can tell by itself: what is missing, what has another type, and what is too short, too long, too small or too large. */
export function problemsOf(value, schema, root = schema, pointer = '', depth = 0) {
  if (depth > MAX_DEPTH) return [];
  if (value instanceof Broken) return [{ pointer, message: 'this is not JSON yet' }];
  const shape = shapeFor(schema, value, root);
  if (value === null && shape.nullable) return [];
  const isInteger = shape.kind !== 'integer' || !(value instanceof JsonNumber) || Number.isInteger(Number(value.text));
  if (shape.kind !== 'choice' && (!fits(shape, value) || !isInteger)) return [{ pointer, message: `this must be ${KINDS[shape.kind]}` }];
  const found = outOfBounds(value, shape.words).map((message) => ({ pointer, message }));
  if (shape.kind === 'array') value.forEach((item, index) => found.push(...problemsOf(item, itemSchema(shape.words, index), root, `${pointer}/${index}`, depth + 1)));
  if (shape.kind === 'object') {
    for (const name of missingNames(shape, value)) found.push({ pointer: `${pointer}/${escapePointer(name)}`, message: 'this is required' });
    for (const [name, item] of value) found.push(...problemsOf(item, propertySchema(shape.words, name), root, `${pointer}/${escapePointer(name)}`, depth + 1));
  }
  return found;
}

function outOfBounds(value, words) {
  const [low, high, size, unit] =
    typeof value === 'string'
      ? ['minLength', 'maxLength', [...value].length, 'character']
      : Array.isArray(value)
        ? ['minItems', 'maxItems', value.length, 'item']
        : value instanceof JsonNumber
          ? ['minimum', 'maximum', Number(value.text), '']
          : [];
  if (low === undefined) return [];
  const limit = (word) => (words.get(word) instanceof JsonNumber ? words.get(word).text : null);
  const [least, most] = [limit(low), limit(high)];
  const units = (count) => (unit === '' ? count : `${count} ${count === '1' ? unit : `${unit}s`}`);
  if (least !== null && size < Number(least)) return [`at least ${units(least)}`];
  return most !== null && size > Number(most) ? [`at most ${units(most)}`] : [];
}
