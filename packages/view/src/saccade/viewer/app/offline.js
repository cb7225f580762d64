// @ts-check
/** What a server would answer, worked out from the rows that an exported file carries. */

/** @typedef {import("./types").Row} Row */

const CHOICES = ["stage", "family", "stream", "status", "kind", "tool", "error", "marked", "right"];
const NUMBERS = ["step", "turns", "tokens", "reward", "advantage", "entropy", "seconds", "sample"];
const BINS = 20;

/** @param {import("./types").ExportData} data @param {string} path @returns {any} undefined where it is not carried */
export function answerFrom(data, path) {
  if (path in data.answers) return data.answers[path];
  const url = new URL(path, "http://file.invalid");
  const [, run, kind, id, near] = url.pathname.match(/^\/api\/runs\/([^/]+)\/(trajectories|groups)(?:\/([^/]+))?(\/neighbours)?$/) ?? [];
  const rows = data.rows[run];
  if (rows && !id) return rowsAnswer(rows, url.searchParams, data.note ? [data.note] : []);
  if (rows && near) return neighboursOf(matching(rows, url.searchParams), rows, id);
  if (rows && kind === "groups") return groupAnswer(rows, id);
  return data.answers[url.pathname];
}

/** @param {Row} row @param {string} name @returns {(string | boolean | null)[]} */
function valuesOf(row, name) {
  if (name === "tool") return row.tools.length ? [...new Set(row.tools)] : ["none"];
  if (name === "error") return row.errors.length ? [...new Set(row.errors)] : ["none"];
  if (name === "right") return [row.right === null ? "unknown" : row.right ? "1" : "0"];
  if (name === "marked") return [row.marked ? "1" : "0"];
  return [/** @type {any} */ (row)[name] ?? null];
}

/** @param {Row} row @param {string} name @returns {number | null} */
function numberOf(row, name) {
  if (name.startsWith("term.")) return row.terms?.[name.slice(5)] ?? null;
  return /** @type {any} */ (row)[name] ?? null;
}

/** @param {Row} row @param {URLSearchParams} filter @param {string} [except] */
function passes(row, filter, except = "") {
  for (const name of new Set(filter.keys())) {
    if (name === except) continue;
    const wanted = filter.getAll(name);
    if (CHOICES.includes(name) && !valuesOf(row, name).some((value) => wanted.includes(String(value)))) return false;
    if (name === "task" && !wanted.includes(row.task)) return false;
    const bound = name.match(/^(.+)_(min|max)$/);
    if (bound && (NUMBERS.includes(bound[1]) || bound[1].startsWith("term."))) {
      const value = numberOf(row, bound[1]);
      const limit = Number(wanted[0]);
      if (value === null || (bound[2] === "min" ? value < limit : value > limit)) return false;
    }
    if (name === "q" && !wanted.every((text) => `${row.question}\n${row.answer ?? ""}`.toLowerCase().includes(text.toLowerCase()))) return false;
  }
  return true;
}

/** Rows that pass the filter, sorted as it says. @param {Row[]} rows @param {URLSearchParams} filter */
function matching(rows, filter) {
  const found = rows.filter((row) => passes(row, filter));
  const sort = filter.get("sort") ?? "";
  const name = sort.replace(/^-/, "");
  if (!name || name === "order") return found;
  const sign = sort.startsWith("-") ? -1 : 1;
  return found
    .map((row, at) => ({ row, at, value: numberOf(row, name) }))
    .sort((a, b) => (a.value === null ? 1 : 0) - (b.value === null ? 1 : 0) || sign * ((a.value ?? 0) - (b.value ?? 0)) || a.at - b.at)
    .map((one) => one.row);
}

/** @param {Row[]} rows @param {URLSearchParams} filter @param {string[]} notes @returns {import("./types").Rows} */
function rowsAnswer(rows, filter, notes) {
  const found = matching(rows, filter);
  const offset = Number(filter.get("offset") ?? 0);
  /** @type {Record<string, import("./types").Facet>} */
  const facets = {};
  for (const name of CHOICES) {
    const counts = new Map();
    for (const row of rows) if (passes(row, filter, name)) for (const value of valuesOf(row, name)) counts.set(value, (counts.get(value) ?? 0) + 1);
    facets[name] = [...counts].filter(([value]) => value !== null).sort((a, b) => b[1] - a[1]);
  }
  const ranges = Object.fromEntries(NUMBERS.map((name) => [name, rangeOf(found, name)]).filter(([, range]) => range));
  return { total: rows.length, matched: found.length, offset, rows: found.slice(offset, offset + Number(filter.get("limit") ?? 200)),
    facets, ranges, indexing: null, search: null, notes };
}

/** @param {Row[]} rows @param {string} name @returns {import("./types").Range | null} */
function rangeOf(rows, name) {
  const values = rows.map((row) => numberOf(row, name)).filter((value) => value !== null);
  if (!values.length) return null;
  const min = Math.min(...values);
  const max = Math.max(...values);
  const counts = new Array(BINS).fill(0);
  for (const value of values) counts[Math.min(BINS - 1, Math.floor(((value - min) / (max - min || 1)) * BINS))] += 1;
  return { min, max, counts };
}

/** @param {Row[]} found @param {Row[]} all @param {string} id */
function neighboursOf(found, all, id) {
  const place = found.findIndex((row) => row.id === id);
  const self = all.find((row) => row.id === id);
  const group = all.filter((row) => self && row.task === self.task && row.stage === self.stage && row.step === self.step);
  const inGroup = group.findIndex((row) => row.id === id);
  return {
    previous: found[place - 1]?.id ?? null,
    next: found[place + 1]?.id ?? null,
    next_wrong: found.slice(place + 1).find((row) => row.right === false)?.id ?? null,
    next_in_group: group.length > 1 ? group[(inGroup + 1) % group.length].id : null,
    place: place + 1,
    of: found.length,
  };
}

/** @param {Row[]} rows @param {string} id */
function groupAnswer(rows, id) {
  const self = rows.find((row) => row.id === id);
  if (!self) return undefined;
  const members = rows.filter((row) => row.task === self.task && row.stage === self.stage && row.step === self.step);
  return { task: self.task, rows: members, across: [] };
}
