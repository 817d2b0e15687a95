// Search that forgives: the letters of the query must occur in order, and better matches come first.

/** How well a text matches: null for not at all; else higher is better. */
function score(query, text) {
  const haystack = text.toLowerCase();
  const whole = haystack.indexOf(query);
  if (whole >= 0) return 1000 - whole - haystack.length / 100 + (whole === 0 || /[^a-z0-9]/.test(haystack[whole - 1]) ? 200 : 0);
  let at = -1;
  let points = 0;
  for (const letter of query) {
    const next = haystack.indexOf(letter, at + 1);
    if (next < 0) return null;
    const starts = next === 0 || /[^a-z0-9]/.test(haystack[next - 1]);
    points += next === at + 1 ? 3 : starts ? 5 : -Math.min(next - at, 10) / 5;
    at = next;
  }
  return points;
}

/** The tools that match, best first: by name or title, and by every word in the description. */
export function search(tools, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tools;
  const found = [];
  tools.forEach((tool, index) => {
    let total = 0;
    for (const word of words) {
      const inName = Math.max(score(word, tool.name) ?? -Infinity, score(word, tool.title ?? '') ?? -Infinity);
      const about = `${tool.description} ${tool.source ?? ''}`.toLowerCase().indexOf(word);
      const best = Math.max(inName, about >= 0 ? 100 - Math.min(about, 90) : -Infinity);
      if (best === -Infinity) return;
      total += best;
    }
    found.push({ tool, total, index });
  });
  found.sort((a, b) => b.total - a.total || a.index - b.index);
  return found.map((match) => match.tool);
}
