// Numbers and times for people.

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return '';
  if (milliseconds < 1) return '< 1 ms';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return '';
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The time of day, with the date where it is not today. */
export function moment(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  const clock = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock : `${date.toLocaleDateString([], { day: 'numeric', month: 'short', year: 'numeric' })}, ${clock}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** The first characters of a text, on one line. */
export function preview(text, most = 120) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** The name of a source in short: of a file without its folders. */
export function sourceName(name) {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(name) ? name : name.split(/[/\\]/).pop() || name;
}
