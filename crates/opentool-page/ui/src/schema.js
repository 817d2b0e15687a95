// What a JSON Schema asks a form to show. Schemas are Maps, as `json.js` reads them, so that numbers in them stay exact.

import { JsonNumber, equal, escapePointer, pointerSegments, stringify } from './json.js';

/** How many references are followed for one field. */
const MAX_STEPS = 64;
/** How deep `allOf` and `anyOf` of one field are read: a schema may lead back to itself. */
const MAX_DEPTH = 16;

/** What a schema says, as a Map; `true` and everything that is not a schema say nothing. */
function asMap(schema) {
  return schema instanceof Map ? schema : new Map();
}

/** Follows a reference inside the document; undefined where it leads out of it or nowhere. */
function follow(reference, root) {
  if (!reference.startsWith('#')) return undefined;
  let target = root;
  let segments;
  try {
    segments = pointerSegments(decodeURIComponent(reference.slice(1)));
  } catch {
    return undefined;
  }
  for (const segment of segments) {
    target = target instanceof Map ? target.get(segment) : Array.isArray(target) ? target[Number(segment)] : undefined;
  }
  return target;
}

/** One schema of two that both hold; null where that takes more than putting their words side by side. */
function both(first, second) {
  const merged = new Map(first);
  for (const [word, value] of second) {
    const before = merged.get(word);
    if (before === undefined || equal(before, value)) merged.set(word, value);
    else if (word === 'properties' && before instanceof Map && value instanceof Map) merged.set(word, new Map([...before, ...value]));
    else if (word === 'required' && Array.isArray(before) && Array.isArray(value)) merged.set(word, [...new Set([...before, ...value])]);
    else if (ANNOTATIONS.has(word)) merged.set(word, value);
    else return null;
  }
  return merged;
}

const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', '$comment', 'deprecated', 'readOnly', 'writeOnly', '$schema', '$id']);

/** A schema without `$ref` and `allOf`; null where a form cannot show it. */
export function resolve(schema, root, depth = 0) {
  if (depth > MAX_DEPTH) return null;
  let current = asMap(schema);
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    if (typeof current.get('$ref') === 'string') {
      const target = follow(current.get('$ref'), root);
      if (!(target instanceof Map)) return target === true ? new Map() : null;
      const rest = new Map(current);
      rest.delete('$ref');
      current = both(target, rest);
    } else if (Array.isArray(current.get('allOf'))) {
      const rest = new Map(current);
      rest.delete('allOf');
      current = current.get('allOf').reduce((merged, part) => {
        const resolved = merged && resolve(part, root, depth + 1);
        return resolved && both(resolved, merged);
      }, rest);
    } else {
      return current;
    }
    if (!current) return null;
  }
  return null;
}

const isNull = (schema) => schema instanceof Map && (schema.get('type') === 'null' || schema.get('const') === null);

/**
 * What a form shows for a schema: `kind` is const, enum, boolean, number, integer, string, array, object, choice or json; `words`
 * is the schema without references; `nullable` says whether null is allowed beside it.
 */
export function shapeOf(schema, root, depth = 0) {
  if (schema === false || depth > MAX_DEPTH) return { kind: 'json', words: new Map(), nullable: false };
  const words = resolve(schema, root);
  if (!words) return { kind: 'json', words: asMap(schema), nullable: false };
  let nullable = words.get('nullable') === true;

  if (words.has('const')) return { kind: 'const', words, nullable, options: [{ value: words.get('const') }] };
  if (Array.isArray(words.get('enum'))) {
    const values = words.get('enum');
    const options = values.filter((value) => value !== null).map((value) => ({ value }));
    return options.length === 0 ? { kind: 'json', words, nullable } : { kind: 'enum', words, nullable: nullable || options.length < values.length, options };
  }

  const word = Array.isArray(words.get('oneOf')) ? 'oneOf' : Array.isArray(words.get('anyOf')) ? 'anyOf' : null;
  if (word) {
    const rest = new Map(words);
    rest.delete(word);
    const variants = words.get(word).filter((variant) => !isNull(variant));
    nullable ||= variants.length < words.get(word).length;
    if (variants.length === 1) {
      const resolved = resolve(variants[0], root);
      const merged = resolved && both(resolved, rest);
      return merged ? orNull(shapeOf(merged, root, depth + 1), nullable) : { kind: 'json', words, nullable };
    }
    const resolved = variants.map((variant) => resolve(variant, root));
    if (resolved.length > 0 && resolved.every((variant) => variant?.has('const'))) {
      const options = resolved.map((variant) => ({ value: variant.get('const'), about: variant.get('description') ?? variant.get('title') }));
      return { kind: 'enum', words: rest, nullable, options };
    }
    const whole = resolved.map((variant) => variant && both(variant, without(rest, ANNOTATIONS)));
    if (variants.length > 0 && whole.every(Boolean)) return { kind: 'choice', words: rest, nullable, variants: whole };
    return { kind: 'json', words, nullable };
  }

  let type = words.get('type');
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== 'null');
    nullable ||= types.length < type.length;
    if (types.length > 1) {
      const variants = types.map((name) => new Map([...without(words, ANNOTATIONS), ['type', name]]));
      return { kind: 'choice', words: new Map([...words].filter(([name]) => ANNOTATIONS.has(name))), nullable, variants };
    }
    [type] = types;
  }
  type ??= words.has('properties') ? 'object' : words.has('items') || words.has('prefixItems') ? 'array' : undefined;
  const known = ['boolean', 'number', 'integer', 'string', 'array', 'object'].includes(type);
  return { kind: known ? type : 'json', words, nullable };
}

const without = (words, names) => new Map([...words].filter(([name]) => !names.has(name)));
const orNull = (shape, nullable) => ({ ...shape, nullable: shape.nullable || nullable });

/** The schema of an item of an array. */
export function itemSchema(words, index) {
  const first = words.get('prefixItems');
  if (Array.isArray(first) && index < first.length) return first[index];
  const items = words.get('items');
  return Array.isArray(items) ? (items[index] ?? words.get('additionalItems') ?? true) : (items ?? true);
}

/** The properties of an object in their order, the required ones as they stand. */
export function propertiesOf(words) {
  return asMap(words.get('properties'));
}

/** Whether a property must be there. */
export function isRequired(words, name) {
  const required = words.get('required');
  return Array.isArray(required) && required.includes(name);
}

/** Whether, and by which schema, an object may have properties that its schema does not name. */
export function otherProperties(words) {
  const other = words.get('additionalProperties');
  if (other === false) return null;
  if (other === undefined) return words.get('properties') instanceof Map || words.has('patternProperties') ? null : true;
  return other;
}

/** The schemas of a name's value: that of the property, those of all patterns that the name matches, or else that of others. */
export function memberSchemas(words, name) {
  const named = propertiesOf(words).get(name);
  const matching = [...asMap(words.get('patternProperties'))].filter(([pattern]) => matches(pattern, name)).map(([, schema]) => schema);
  const found = named === undefined ? matching : [named, ...matching];
  return found.length > 0 ? found : [words.get('additionalProperties') ?? true];
}

/** The schema of a value under a name that `properties` does not have; `true` where none says anything, or one forbids it. */
export function memberSchema(words, name) {
  const [first, ...others] = memberSchemas(words, name);
  if (others.length > 0) return new Map([['allOf', [first, ...others]]]);
  return first === false ? true : first;
}

/** Whether a name matches a pattern; a pattern that is none in this language matches all. */
function matches(pattern, name) {
  try {
    return new RegExp(pattern, 'u').test(name);
  } catch {
    return true;
  }
}

/** Whether a control for this kind can show the value without changing it. */
export function fits(shape, value) {
  switch (shape.kind) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
    case 'number':
      return value instanceof JsonNumber;
    case 'string':
      return typeof value === 'string';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return value instanceof Map;
    case 'const':
    case 'enum':
      return shape.options.some((option) => equal(option.value, value));
    default:
      return true;
  }
}

/** The variant of a choice that suits a value best. */
export function variantOf(variants, value, root) {
  let best = 0;
  let most = -1;
  variants.forEach((variant, index) => {
    const suits = suitability(variant, value, root);
    if (suits > most) [best, most] = [index, suits];
  });
  return best;
}

function suitability(variant, value, root) {
  if (value === undefined) return 0;
  const shape = shapeOf(variant, root);
  if (value === null ? !shape.nullable : !fits(shape, value)) return -1;
  if (shape.kind !== 'object' || !(value instanceof Map)) return 1;
  let suits = 1;
  // A tag, which can only be one thing, says which variant is meant, even where something else is wrong.
  let [hasTag, isWrong] = [false, false];
  for (const [name, schema] of propertiesOf(shape.words)) {
    if (value.has(name)) {
      const inner = shapeOf(schema, root);
      const isTag = ['const', 'enum'].includes(inner.kind) && inner.options.length === 1;
      if (fits(inner, value.get(name))) {
        hasTag ||= isTag;
        suits += isTag ? 1000 : 1;
      } else if (isTag) {
        return 0;
      } else {
        isWrong = true;
      }
    } else if (isRequired(shape.words, name)) {
      suits -= 1;
    }
  }
  if (isWrong && !hasTag) return 0;
  return Math.max(suits, 0);
}

/** A word or two by which a user chooses a variant. */
export function variantName(variant, root, index) {
  const shape = shapeOf(variant, root);
  const title = shape.words.get('title');
  if (typeof title === 'string') return title;
  if (shape.kind === 'object') {
    for (const [name, schema] of propertiesOf(shape.words)) {
      const inner = shapeOf(schema, root);
      if (inner.kind === 'const') return `${name}: ${asText(inner.options[0].value)}`;
    }
    const names = [...propertiesOf(shape.words).keys()].slice(0, 3);
    if (names.length > 0) return `object with ${names.join(', ')}`;
  }
  if (shape.kind === 'const' || shape.kind === 'enum') return shape.options.slice(0, 3).map((option) => asText(option.value)).join(' | ');
  if (shape.kind === 'json' || shape.kind === 'choice') return `variant ${index + 1}`;
  return shape.kind;
}

/** What a field starts with: nothing, but for what can only be one thing. */
export function initial(schema, root, steps = 0) {
  const shape = shapeOf(schema, root);
  if (shape.kind === 'const') return shape.options[0].value;
  if (shape.kind !== 'object' || steps > 8) return undefined;
  const value = new Map();
  for (const [name, inner] of propertiesOf(shape.words)) {
    if (!isRequired(shape.words, name)) continue;
    const first = initial(inner, root, steps + 1);
    if (first !== undefined) value.set(name, first);
  }
  return value;
}

/** A value as a label: a string without its quotes. */
export function asText(value) {
  return typeof value === 'string' ? value : stringify(value);
}

const amount = (words, name) => {
  const value = words.get(name);
  return value instanceof JsonNumber ? value.text : null;
};

// The ends of the integer types of programming languages: they say nothing to a person.
const TYPE_LIMITS = new Set(['-2147483648', '2147483647', '4294967295', '-9223372036854775808', '9223372036854775807', '18446744073709551615']);

const limit = (words, name) => {
  const value = amount(words, name);
  return TYPE_LIMITS.has(value) ? null : value;
};

/** What the schema demands of a value, in words. */
export function constraints(words) {
  const parts = [];
  const least = limit(words, 'minimum');
  const most = limit(words, 'maximum');
  if (least !== null && most !== null) parts.push(`${least} to ${most}`);
  else if (least !== null) parts.push(`at least ${least}`);
  else if (most !== null) parts.push(`at most ${most}`);
  if (amount(words, 'exclusiveMinimum') !== null) parts.push(`more than ${amount(words, 'exclusiveMinimum')}`);
  if (amount(words, 'exclusiveMaximum') !== null) parts.push(`less than ${amount(words, 'exclusiveMaximum')}`);
  if (amount(words, 'multipleOf') !== null) parts.push(`a multiple of ${amount(words, 'multipleOf')}`);
  for (const [low, high, unit] of [['minLength', 'maxLength', 'character'], ['minItems', 'maxItems', 'item'], ['minProperties', 'maxProperties', 'property']]) {
    const [from, to] = [amount(words, low), amount(words, high)];
    const units = unit === 'property' ? 'properties' : `${unit}s`;
    if (from !== null && to !== null) parts.push(`${from} to ${to} ${units}`);
    else if (from !== null) parts.push(`at least ${from} ${from === '1' ? unit : units}`);
    else if (to !== null) parts.push(`at most ${to} ${to === '1' ? unit : units}`);
  }
  if (words.get('uniqueItems') === true) parts.push('no item twice');
  if (typeof words.get('pattern') === 'string') parts.push(`matches ${words.get('pattern')}`);
  return parts;
}

const isSecret = (words) => words?.get('format') === 'password' || words?.get('writeOnly') === true;

/** A copy of the value without what the schema marks as secret (`format: password`, `writeOnly`), and the pointers of that. */
export function withoutSecrets(value, schema, root = schema) {
  const removed = [];
  return { value: strip(value, [schema], root, '', removed), removed };
}

function strip(value, schemas, root, pointer, removed) {
  if (value === undefined) return undefined;
  const all = schemas.flatMap((schema) => alternatives(schema, root));
  if (all.some(isSecret)) {
    removed.push(pointer);
    return undefined;
  }
  if (Array.isArray(value)) {
    return value
      .map((item, index) => strip(item, all.flatMap((words) => [itemSchema(words, index), words.get('unevaluatedItems') ?? true, words.get('contains') ?? true]), root, `${pointer}/${index}`, removed))
      .filter((item) => item !== undefined);
  }
  if (value instanceof Map) {
    const kept = new Map();
    for (const [name, item] of value) {
      const inner = all.flatMap((words) => [...memberSchemas(words, name), words.get('unevaluatedProperties') ?? true]);
      const rest = strip(item, inner, root, `${pointer}/${escapePointer(name)}`, removed);
      if (rest !== undefined) kept.set(name, rest);
    }
    return kept;
  }
  return value;
}

/** All schemas that may hold for a value, each once: a secret in one of several variants is a secret. */
function alternatives(schema, root, found = new Set()) {
  if (!(schema instanceof Map) || found.has(schema)) return [...found];
  found.add(schema);
  if (typeof schema.get('$ref') === 'string') alternatives(follow(schema.get('$ref'), root), root, found);
  for (const word of ['allOf', 'anyOf', 'oneOf']) {
    if (Array.isArray(schema.get(word))) schema.get(word).forEach((part) => alternatives(part, root, found));
  }
  for (const word of ['if', 'then', 'else']) alternatives(schema.get(word), root, found);
  for (const part of asMap(schema.get('dependentSchemas')).values()) alternatives(part, root, found);
  return [...found];
}
