// Markdown as a tree of plain objects: the part of it that models write. Nothing is HTML, and images stay text.

/** Blocks: {type: heading|paragraph|code|list|quote|table|rule, …}. */
export function blocks(text) {
  return readBlocks(text.replace(/\r\n?/g, '\n').split('\n'), 0);
}

/** Deeper lists and quotes are read as text. */
const MAX_DEPTH = 8;
const ITEM = /^(\s*)(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([^\s`]*)/;

function readBlocks(lines, depth) {
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (line.trim() === '') {
      at += 1;
    } else if (fence) {
      const code = [];
      at += 1;
      while (at < lines.length && !(lines[at].trim().startsWith(fence[1]) && lines[at].trim().replaceAll(fence[1][0], '') === '')) code.push(lines[at++]);
      at += 1;
      found.push({ type: 'code', language: fence[2], text: code.join('\n') });
    } else if (heading) {
      found.push({ type: 'heading', level: heading[1].length, inline: inline(heading[2]) });
      at += 1;
    } else if (/^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) {
      found.push({ type: 'rule' });
      at += 1;
    } else if (depth < MAX_DEPTH && /^\s{0,3}>/.test(line)) {
      const quoted = [];
      while (at < lines.length && /^\s{0,3}>/.test(lines[at])) quoted.push(lines[at++].replace(/^\s{0,3}> ?/, ''));
      found.push({ type: 'quote', blocks: readBlocks(quoted, depth + 1) });
    } else if (depth < MAX_DEPTH && ITEM.test(line)) {
      const [list, next] = readList(lines, at, depth);
      found.push(list);
      at = next;
    } else if (line.includes('|') && isTableRule(lines[at + 1] ?? '')) {
      const rows = [cells(line)];
      at += 2;
      while (at < lines.length && lines[at].includes('|') && lines[at].trim() !== '') rows.push(cells(lines[at++]));
      found.push({ type: 'table', head: rows[0], rows: rows.slice(1) });
    } else {
      const paragraph = [line];
      at += 1;
      while (at < lines.length && !endsParagraph(lines[at], depth)) paragraph.push(lines[at++]);
      found.push({ type: 'paragraph', inline: inline(paragraph.join('\n').trim()) });
    }
  }
  return found;
}

function endsParagraph(line, depth) {
  return line.trim() === '' || FENCE.test(line) || /^#{1,6}\s/.test(line) || (depth < MAX_DEPTH && (/^\s{0,3}>/.test(line) || ITEM.test(line)));
}

function readList(lines, from, depth) {
  const [, margin, bullet, number] = ITEM.exec(lines[from]);
  const items = [];
  let at = from;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || item[1].length !== margin.length || Boolean(item[2]) !== Boolean(bullet)) break;
    const inner = [item[4]];
    at += 1;
    // What is indented deeper belongs to the item; so do empty lines before such a line.
    while (at < lines.length) {
      const isInner = /^\s/.test(lines[at]) && indentOf(lines[at]) > margin.length;
      const isGap = lines[at].trim() === '' && at + 1 < lines.length && indentOf(lines[at + 1]) > margin.length;
      if (!isInner && !isGap) break;
      inner.push(lines[at++]);
    }
    const rest = inner.slice(1);
    const shift = Math.min(...rest.filter((line) => line.trim() !== '').map(indentOf), Infinity);
    items.push(readBlocks([inner[0], ...rest.map((line) => line.slice(Number.isFinite(shift) ? shift : 0))], depth + 1));
    if (at < lines.length && lines[at].trim() === '' && ITEM.exec(lines[at + 1] ?? '')?.[1].length === margin.length) at += 1;
  }
  return [{ type: 'list', ordered: !bullet, start: number ? Number(number) : 1, items }, at];
}

const indentOf = (line) => line.length - line.trimStart().length;
const isTableRule = (line) => line.includes('-') && /^[\s|:-]+$/.test(line) && line.includes('|');
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => inline(cell.trim()));

// One alternative a kind; what matches none stays text.
const INLINE =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|!\[([^\]]*)\]\(([^)\s]*)[^)]*\)|\[([^\]]+)\]\(([^)\s]+)[^)]*\)|\*\*(?=\S)([\s\S]*?\S)\*\*|\*(?=[^\s*])([^*]*[^\s*])\*|(?<![\w])_(?=\S)([^_]*\S)_(?![\w])|~~(?=\S)([^~]*\S)~~|(https?:\/\/[^\s<>)\]"']+[^\s<>)\]"'.,;:!?])/g;

/** Spans: a string, or {type: code|image|link|strong|emphasis|deleted, …}. */
export function inline(text, depth = 0) {
  const spans = [];
  let end = 0;
  if (depth < MAX_DEPTH) {
    for (const match of text.matchAll(INLINE)) {
      if (match.index > end) spans.push(text.slice(end, match.index));
      spans.push(spanOf(match, depth + 1));
      end = match.index + match[0].length;
    }
  }
  if (end < text.length) spans.push(text.slice(end));
  return spans;
}

function spanOf([whole, , code, alt, image, label, target, strong, emphasis, underlined, deleted, address], depth) {
  if (code !== undefined) return { type: 'code', text: code };
  if (image !== undefined) return { type: 'image', alt, target: image };
  if (target !== undefined) return /^https?:\/\//i.test(target) ? { type: 'link', target, inline: inline(label, depth) } : whole;
  if (strong !== undefined) return { type: 'strong', inline: inline(strong, depth) };
  if (emphasis !== undefined || underlined !== undefined) return { type: 'emphasis', inline: inline(emphasis ?? underlined, depth) };
  if (deleted !== undefined) return { type: 'deleted', inline: inline(deleted, depth) };
  return { type: 'link', target: address, inline: [address] };
}
