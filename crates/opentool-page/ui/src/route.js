// Where the page is, from the address's fragment: #/tools/NAME?args=…

/** Reads a fragment. Whatever is not known leads to the tools. */
export function readRoute(fragment) {
  const [path, query = ''] = split(fragment.replace(/^#/, ''), '?');
  const [, view = '', ...rest] = path.split('/');
  const name = decode(rest.join('/'));
  const parameters = new URLSearchParams(query);
  if (view === 'tools' && name) return { view: 'tool', name, args: parameters.get('args') };
  if (view === 'runs' && name) return { view: 'run', id: name };
  if (['chat', 'runs', 'history'].includes(view)) return { view };
  return { view: 'tools' };
}

/** The fragment of a tool, with arguments (a JSON text) where they are given. */
export function toolLink(name, args = null) {
  const query = args === null ? '' : `?args=${encodeURIComponent(args)}`;
  return `#/tools/${encodeURIComponent(name)}${query}`;
}

export function runLink(id) {
  return `#/runs/${encodeURIComponent(id)}`;
}

/** A one-time token of the fragment, and where to go after it is exchanged: #token=…&to=/tools/add */
export function readToken(fragment) {
  if (!fragment.startsWith('#token=')) return null;
  const parameters = new URLSearchParams(fragment.slice(1));
  const to = parameters.get('to') ?? '/tools';
  return { token: parameters.get('token'), to: to.startsWith('/') ? to : '/tools' };
}

function split(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
