// JSON that keeps what JSON.parse loses: the text of numbers, the order of all keys, and duplicate keys (as an error).
//
// A value is a string, a boolean, null, a JsonNumber, an array, a Map, or a Broken: text that is not JSON yet.

/** A number, as it was written: 9007199254740993 and 1.0 stay as they are. */
export class JsonNumber {
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
}

/** What a user typed into a field for JSON and is not JSON: kept, so that nothing is lost between form and text. */
export class Broken {
  constructor(text) {
    this.text = text;
  }
}

/** Why a text is not JSON, and where: `offset` in UTF-16 units, `line` and `column` from 1. */
export class JsonError extends Error {
  constructor(message, text, offset) {
    super(message);
    this.offset = offset;
    const before = text.slice(0, offset).split('\n');
    this.line = before.length;
    this.column = before[before.length - 1].length + 1;
  }
  /** The place and the reason. */
  get where() {
    return `line ${this.line}, column ${this.column}: ${this.message}`;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
// A run of characters inside a string that stand for themselves.
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
/** Deeper texts are refused: the parser calls itself. */
const MAX_DEPTH = 512;

/** Whether the text is one JSON number. */
export function isNumberText(text) {
  NUMBER.lastIndex = 0;
  return NUMBER.test(text) && NUMBER.lastIndex === text.length;
}

/**
 * Reads a text. `places` is a Map that gets the range of every value by its pointer; with `lenient`, the last of several
 * equal keys counts, as for a message of a server.
 */
export function parse(text, { places = null, lenient = false } = {}) {
  let at = 0;

  const fail = (message, offset = at) => {
    throw new JsonError(message, text, offset);
  };
  const space = () => {
    SPACE.lastIndex = at;
    SPACE.test(text);
    at = SPACE.lastIndex;
  };
  const found = () => (at < text.length ? `\`${String.fromCodePoint(text.codePointAt(at))}\`` : 'the end');

  function string() {
    const start = at;
    let value = '';
    at += 1;
    for (;;) {
      PLAIN.lastIndex = at;
      PLAIN.test(text);
      value += text.slice(at, PLAIN.lastIndex);
      at = PLAIN.lastIndex;
      const char = text[at];
      if (char === '"') {
        at += 1;
        return value;
      }
      if (char === undefined) fail('this string has no end', start);
      if (char !== '\\') fail('a line break or control character in a string is written as an escape, such as \\n');
      const escape = text[at + 1];
      if (escape === 'u') {
        const digits = text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) fail('after \\u stand four hexadecimal digits');
        value += String.fromCharCode(Number.parseInt(digits, 16));
        at += 6;
      } else if (Object.hasOwn(ESCAPES, escape ?? '')) {
        value += ESCAPES[escape];
        at += 2;
      } else {
        fail(`there is no escape \\${escape ?? ''}`);
      }
    }
  }

  function array(pointer, depth) {
    const values = [];
    at += 1;
    space();
    if (text[at] === ']') {
      at += 1;
      return values;
    }
    for (;;) {
      values.push(value(`${pointer}/${values.length}`, depth + 1));
      space();
      if (text[at] === ']') {
        at += 1;
        return values;
      }
      if (text[at] !== ',') fail(`expected \`,\` or \`]\`, found ${found()}`);
      at += 1;
      space();
      if (text[at] === ']') fail('there is no value after this comma', at - 1);
    }
  }

  function object(pointer, depth) {
    const members = new Map();
    at += 1;
    space();
    if (text[at] === '}') {
      at += 1;
      return members;
    }
    for (;;) {
      space();
      const start = at;
      if (text[at] !== '"') fail(`expected a name in double quotes, found ${found()}`);
      const name = string();
      if (members.has(name) && !lenient) fail(`the name \`${name}\` stands here twice`, start);
      space();
      if (text[at] !== ':') fail(`expected \`:\`, found ${found()}`);
      at += 1;
      members.set(name, value(`${pointer}/${escapePointer(name)}`, depth + 1));
      space();
      if (text[at] === '}') {
        at += 1;
        return members;
      }
      if (text[at] !== ',') fail(`expected \`,\` or \`}\`, found ${found()}`);
      at += 1;
      space();
      if (text[at] === '}') fail('there is no member after this comma', at - 1);
    }
  }

  function scalar() {
    for (const [word, meaning] of [['true', true], ['false', false], ['null', null]]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    NUMBER.lastIndex = at;
    if (NUMBER.test(text)) {
      const number = text.slice(at, NUMBER.lastIndex);
      at = NUMBER.lastIndex;
      return new JsonNumber(number);
    }
    return fail(`expected a value, found ${found()}`);
  }

  function value(pointer, depth) {
    if (depth > MAX_DEPTH) fail(`more than ${MAX_DEPTH} levels of nesting`);
    space();
    const start = at;
    const char = text[at];
    const result = char === '"' ? string() : char === '{' ? object(pointer, depth) : char === '[' ? array(pointer, depth) : scalar();
    places?.set(pointer, [start, at]);
    return result;
  }

  const result = value('', 0);
  space();
  if (at < text.length) fail(`expected the end, found ${found()}`);
  return result;
}

/** Writes a value; with `indent` (a number of spaces) on several lines. */
export function stringify(value, indent = 0) {
  return write(value, indent, '');
}

function write(value, indent, margin) {
  if (value instanceof JsonNumber || value instanceof Broken) return value.text;
  if (Array.isArray(value)) {
    return enclose('[', ']', value.map((item) => write(item, indent, margin + ' '.repeat(indent))), indent, margin);
  }
  if (value instanceof Map) {
    const colon = indent ? ': ' : ':';
    const members = [...value].map(([name, item]) => JSON.stringify(name) + colon + write(item, indent, margin + ' '.repeat(indent)));
    return enclose('{', '}', members, indent, margin);
  }
  return JSON.stringify(value) ?? 'null';
}

function enclose(open, close, parts, indent, margin) {
  if (parts.length === 0) return open + close;
  if (!indent) return open + parts.join(',') + close;
  const inner = `\n${margin}${' '.repeat(indent)}`;
  return `${open}${inner}${parts.join(`,${inner}`)}\n${margin}${close}`;
}

/** Turns a value into ordinary JavaScript values; the values under the names in `exact` stay as they are. */
export function plain(value, exact = new Set()) {
  if (value instanceof JsonNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map((item) => plain(item, exact));
  if (value instanceof Map) {
    // A null prototype: a member named `__proto__` is a member.
    const object = Object.create(null);
    for (const [name, item] of value) object[name] = exact.has(name) ? item : plain(item, exact);
    return object;
  }
  return value;
}

/** Turns ordinary JavaScript values into what `stringify` writes. */
export function fromPlain(value) {
  if (typeof value === 'number') return new JsonNumber(JSON.stringify(value));
  if (Array.isArray(value)) return value.map(fromPlain);
  if (value !== null && typeof value === 'object' && !(value instanceof Map) && !(value instanceof JsonNumber)) {
    return new Map(Object.entries(value).map(([name, item]) => [name, fromPlain(item)]));
  }
  return value;
}

/** Whether two values are the same JSON; numbers by their value where that is exact, else by their text. */
export function equal(a, b) {
  if (a instanceof JsonNumber && b instanceof JsonNumber) {
    if (a.text === b.text) return true;
    const number = Number(a.text);
    return number === Number(b.text) && Math.abs(number) <= Number.MAX_SAFE_INTEGER;
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => equal(item, b[index]));
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([name, item]) => b.has(name) && equal(item, b.get(name)));
  }
  return a === b;
}

/** The first text in the value that is not JSON, with its pointer. */
export function findBroken(value, pointer = '') {
  if (value instanceof Broken) return { pointer, text: value.text };
  const children = Array.isArray(value) ? value.entries() : value instanceof Map ? value : [];
  for (const [name, item] of children) {
    const broken = findBroken(item, `${pointer}/${escapePointer(String(name))}`);
    if (broken) return broken;
  }
  return null;
}

/** A name as a segment of a JSON pointer. */
export function escapePointer(name) {
  return name.replace(/~/g, '~0').replace(/\//g, '~1');
}

/** The segments of a JSON pointer. */
export function pointerSegments(pointer) {
  return pointer.split('/').slice(1).map((segment) => segment.replace(/~1/g, '/').replace(/~0/g, '~'));
}

/** The pointers of the values around the one that the pointer is of, from the inside out; the last is the root, ''. */
export function enclosing(pointer) {
  const around = [];
  for (let rest = pointer; rest !== ''; ) {
    rest = rest.slice(0, Math.max(rest.lastIndexOf('/'), 0));
    around.push(rest);
  }
  return around;
}

/** The value that a pointer is of; undefined where there is none. */
export function valueAt(value, pointer) {
  let current = value;
  for (const segment of pointerSegments(pointer)) {
    current = current instanceof Map ? current.get(segment) : Array.isArray(current) ? current[Number(segment)] : undefined;
  }
  return current;
}
