// @ts-check
/** The list of trajectories: facets with counts, a search, a sort; only the rows in sight exist. */

import { api, imageUrl, listen, runLink } from "./api.js";
import { announce, cloned, counted, h, later, many, notesOf, numberText, onLeave, readable, redrawn, svg, tried, VERDICT_WORDS } from "./dom.js";

/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Rows} Rows */

const ROW_PX = 76;
const PAGE = 200;
const MAX_SCROLL_PX = 16_000_000;
/** How far down a list was left, by its address. @type {Map<string, number>} */
const LEFT_AT = new Map();
const FACETS = { right: "Right", stage: "Stage", family: "Family", stream: "Stream", reason: "Why wrong", status: "Status", tool: "Tool", error: "Error", kind: "Kind", marked: "Marked" };
const VALUE_WORDS = { right: { 1: VERDICT_WORDS.right, 0: VERDICT_WORDS.wrong, unknown: VERDICT_WORDS.unknown }, marked: { 1: "marked", 0: "not marked" } };

/** @param {string} run @param {URLSearchParams} filter @returns {Promise<HTMLElement>} */
export async function listPage(run, filter) {
  /** @type {Rows} */
  let answer = await api(pathOf(run, filter, 0));
  const summary = h("p.matched", { role: "status" });
  const facets = h("div.facets");
  const rows = virtualRows(run, filter);
  const notes = h("div");
  const bar = cloned("list-bar");
  const [search, sort] = /** @type {NodeListOf<HTMLInputElement>} */ (bar.querySelectorAll("input, select"));
  search.value = filter.get("q") ?? "";
  search.addEventListener("input", later(() => set("q", search.value.trim()), 350));
  sort.value = filter.get("sort") ?? "";
  sort.addEventListener("change", () => set("sort", sort.value));
  bar.prepend(runLink(run, answer.run_name ?? "run") ?? "");
  bar.append(summary);
  const side = h("details.side", { open: window.innerWidth > 800 }, h("summary", "Filter"), facets);
  const page = h("div.page.list", h("h1.unseen", "Trajectories"),
    bar, notes, h("div.list-two", side, rows.element));

  /** @param {string} name @param {string} value */
  function set(name, value) {
    filter.delete(name);
    if (value) filter.append(name, value);
    changed();
  }

  /** @param {string} name @param {string} value @param {boolean} isOn */
  function toggle(name, value, isOn) {
    const others = filter.getAll(name).filter((one) => one !== value);
    filter.delete(name);
    for (const one of isOn ? [...others, value] : others) filter.append(name, one);
    changed();
  }

  let isLeft = false;
  onLeave(() => { isLeft = true; });
  let asked = 0;
  function changed() {
    // A search that was still being waited for when the page was left; it may stand until the next one is drawn.
    if (isLeft) return;
    const query = filter.toString();
    history.replaceState(null, "", `#/run/${run}/list${query && `?${query}`}`);
    void renewed(true);
  }

  /** @param {boolean} fromTop */
  async function renewed(fromTop) {
    const mine = (asked += 1);
    // What nobody asked for fails without a word: of a server that is silent the stream of events tells.
    await tried(fromTop ? summary : h("p"), async () => {
      const next = await api(pathOf(run, filter, 0));
      if (mine !== asked) return;
      answer = next;
      draw(fromTop);
    });
  }

  /** @param {boolean} fromTop */
  function draw(fromTop) {
    redrawn(facets, () => facets.replaceChildren(...facetViews(answer, filter, toggle), rangeViews(answer, filter, set)));
    const indexing = answer.indexing ? ` · indexing, ${answer.indexing.of ? `${answer.indexing.done} of ${answer.indexing.of}` : "looking for"} files` : "";
    const searching = answer.search && !answer.search.is_complete ? ` · searched ${many(answer.search.scanned)} of ${many(answer.search.of)}` : "";
    const words = `${counted(answer.matched, "trajectory", "trajectories")}${answer.matched === answer.total ? "" : ` of ${many(answer.total)}`}${indexing}${searching}`;
    if (summary.textContent !== words) summary.textContent = words;
    notes.replaceChildren(...notesOf(answer.notes));
    rows.reset(answer, fromTop);
  }

  draw(true);
  const soon = later(() => void renewed(false), 300);
  listen(page, run, { step: soon, index: soon, search: soon, gone: (data) => { announce(data.why); notes.replaceChildren(...notesOf([data.why])); } });
  return page;
}

/** @param {string} run @param {URLSearchParams} filter @param {number} offset @param {string} [more] */
function pathOf(run, filter, offset, more = "") {
  const query = new URLSearchParams(filter);
  query.set("offset", String(offset));
  query.set("limit", String(PAGE));
  return `/api/runs/${run}/trajectories?${query}${more}`;
}

/** @param {Rows} answer @param {URLSearchParams} filter @param {(name: string, value: string, isOn: boolean) => void} toggle */
function facetViews(answer, filter, toggle) {
  return Object.entries(FACETS).flatMap(([name, title]) => {
    const values = answer.facets?.[name] ?? [];
    const chosen = filter.getAll(name);
    if (values.length < 2 && !chosen.length) return [];
    const missing = chosen.filter((value) => !values.some(([one]) => one === value));
    const all = [...values, ...missing.map((value) => /** @type {[string, number]} */ ([value, 0]))];
    return [h("fieldset", h("legend", title), all.slice(0, 40).map(([key, count], index) => {
      const words = /** @type {any} */ (VALUE_WORDS)[name]?.[key] ?? readable(key);
      return h("label.facet", h("input", { type: "checkbox", id: `facet-${name}-${index}`, checked: chosen.includes(key), onchange: (/** @type {Event} */ event) => toggle(name, key, /** @type {HTMLInputElement} */ (event.target).checked) }), h("span.facet-name", words), h("span.count", many(count)));
    }))];
  });
}

/** @param {Rows} answer @param {URLSearchParams} filter @param {(name: string, value: string) => void} set */
function rangeViews(answer, filter, set) {
  const names = Object.keys(answer.ranges ?? {}).filter((name) => answer.ranges[name].min < answer.ranges[name].max || filter.has(`${name}_min`) || filter.has(`${name}_max`));
  return h("div", names.map((name) => {
    const range = answer.ranges[name];
    const most = Math.max(...range.counts, 1);
    const end = (/** @type {"min" | "max"} */ side) => h("input", { type: "number", step: "any", id: `range-${name}-${side}`, "aria-label": `${readable(name)}, ${side === "min" ? "at least" : "at most"}`, placeholder: numberText(range[side]), value: filter.get(`${name}_${side}`) ?? "",
      onchange: (/** @type {Event} */ event) => set(`${name}_${side}`, /** @type {HTMLInputElement} */ (event.target).value) });
    return h("fieldset.range", h("legend", readable(name.replace("term.", "reward term "))),
      svg("svg", { viewBox: `0 0 ${range.counts.length} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...range.counts.map((count, at) => svg("rect", { x: at + 0.05, y: 10 - (9.5 * count) / most, width: 0.9, height: (9.5 * count) / most }))),
      h("span.ends", end("min"), h("span", { "aria-hidden": "true" }, "–"), end("max")));
  }));
}

/** Rows as one scrolls: a page of them is asked for when it comes into sight. @param {string} run @param {URLSearchParams} filter */
function virtualRows(run, filter) {
  const list = h("ol.rows");
  const element = h("div.scroller", { tabindex: -1 }, list);
  /** @type {Map<number, Row[] | null>} */
  let pages = new Map();
  /** Rows from before the list grew, until its new page has come; they are `shift` places further down. */
  let before = pages;
  let shift = 0;
  let matched = 0;
  let focus = -1;
  /** The row that has the focus is still being asked for. */
  let isOwed = false;
  /** @type {Map<number, { row: Row | null, item: HTMLElement }>} */
  let drawn = new Map();
  let asked = 0;

  const height = () => Math.min(matched * ROW_PX, MAX_SCROLL_PX);
  const firstInSight = () => {
    const whole = height() - element.clientHeight;
    const rowsAbove = matched - element.clientHeight / ROW_PX;
    return whole <= 0 ? 0 : Math.max((element.scrollTop / whole) * rowsAbove, 0);
  };

  /** @param {number} place */
  function rowAt(place) {
    const page = Math.floor(place / PAGE);
    if (!pages.has(page)) void fetched(page);
    return known(pages, place) ?? known(before, place - shift);
  }

  /** @param {typeof pages} all @param {number} place */
  const known = (all, place) => all.get(Math.floor(place / PAGE))?.[place % PAGE] ?? null;

  /** @param {number} page */
  async function fetched(page) {
    pages.set(page, null);
    const mine = asked;
    const answer = await api(pathOf(run, filter, page * PAGE, "&facets=0")).catch(() => null);
    if (mine !== asked) return;
    if (!answer) return void pages.delete(page);
    pages.set(page, answer.rows);
    draw();
  }

  /** Rows that are in the page already stay as they are: of those that come into sight alone elements are made. */
  function draw() {
    const first = firstInSight();
    const from = Math.max(Math.floor(first) - 4, 0);
    const to = Math.min(Math.ceil(first + element.clientHeight / ROW_PX) + 4, matched);
    const top = matched * ROW_PX > MAX_SCROLL_PX ? element.scrollTop - first * ROW_PX : 0;
    const hadFocus = list.contains(document.activeElement) || (isOwed && document.activeElement === document.body);
    const query = filter.toString();
    const old = drawn;
    drawn = new Map();
    for (let at = from; at < to; at += 1) {
      const row = rowAt(at);
      const known = old.get(at);
      const item = known?.row === row ? known.item : rowItem(run, row, at, matched, query);
      item.style.transform = `translateY(${top + at * ROW_PX}px)`;
      drawn.set(at, { row, item });
    }
    const items = [...drawn.values()].map((one) => one.item);
    for (const child of [...list.children]) if (!items.includes(/** @type {HTMLElement} */ (child))) child.remove();
    items.forEach((item, index) => list.children[index] === item || list.insertBefore(item, list.children[index]));
    if (hadFocus && !list.contains(document.activeElement)) focusRow(focus);
  }

  /** @param {number} at */
  function focusRow(at) {
    const link = list.querySelector(`[data-place="${at}"] a`);
    isOwed = !(link instanceof HTMLElement);
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  }

  /** @param {number} at */
  function reveal(at) {
    focus = Math.min(Math.max(at, 0), matched - 1);
    const first = firstInSight();
    const inSight = element.clientHeight / ROW_PX;
    if (focus < first || focus > first + inSight - 1) {
      const whole = height() - element.clientHeight;
      const rowsAbove = Math.max(matched - inSight, 1);
      const wanted = focus < first ? focus : focus - inSight + 1;
      element.scrollTop = (wanted / rowsAbove) * whole;
    }
    draw();
    focusRow(focus);
  }

  const address = () => `${run}?${filter}`;
  element.addEventListener("scroll", () => {
    LEFT_AT.set(address(), element.scrollTop);
    requestAnimationFrame(draw);
  }, { passive: true });
  element.addEventListener("focusin", (event) => {
    const place = event.target instanceof Element ? event.target.closest("[data-place]")?.getAttribute("data-place") : null;
    if (place) focus = Number(place);
  });
  element.addEventListener("keydown", (event) => {
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: focus + 1, ArrowUp: focus - 1, PageDown: focus + 8, PageUp: focus - 8, Home: 0, End: matched - 1, j: focus + 1, k: focus - 1 };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    reveal(steps[event.key]);
  });
  let isPlaced = false;
  new ResizeObserver(() => {
    if (!isPlaced) element.scrollTop = LEFT_AT.get(address()) ?? 0;
    isPlaced = true;
    draw();
  }).observe(element);

  /** @param {Rows} answer @param {boolean} fromTop */
  function reset(answer, fromTop) {
    asked += 1;
    const at = answer.rows.findIndex((row) => row.id === pages.get(0)?.[0]?.id);
    const grown = fromTop ? 0 : at < 0 ? answer.matched - matched : at;
    matched = answer.matched;
    before = fromTop ? new Map() : pages;
    shift = grown;
    focus = fromTop || focus < 0 ? -1 : focus + grown;
    list.style.height = `${height()}px`;
    pages = new Map([[0, answer.rows]]);
    if (fromTop) element.scrollTop = 0;
    else if (grown > 0 && element.scrollTop > 0 && matched * ROW_PX <= MAX_SCROLL_PX) element.scrollTop += grown * ROW_PX;
    drawn = new Map();
    draw();
  }

  return { element, reset };
}

/** @param {string} run @param {Row | null} row @param {number} place @param {number} matched @param {string} query */
function rowItem(run, row, place, matched, query) {
  const item = h("li.row-item", { "data-place": place, "aria-setsize": matched, "aria-posinset": place + 1 });
  if (!row) {
    item.append(h("span.small.loading", "…"));
    return item;
  }
  const verdict = row.status === "failed" ? "failed" : row.right === null ? "unknown" : row.right ? "right" : "wrong";
  item.classList.add(verdict);
  item.append(h("a", { href: `#/run/${run}/t/${row.id}${query && `?${query}`}` }, rowPicture(run, row),
    h("span", h("span.row-question", row.question),
      h("span.row-line", h("span.badge", VERDICT_WORDS[verdict]),
        h("span", row.answer === null ? "no answer" : h("b", row.answer)), row.expected && row.right === false && h("span.small", "expected ", row.expected), h("span.small", `${readable(row.stage)}, step ${row.step}`), h("span.small.wide-only", readable(row.family)),
        row.tools.length > 0 && h("span.small.wide-only", row.tools.join(", ")), row.errors.length > 0 && h("span.small.bad", `✗ ${row.errors.map(readable).join(", ")}`))),
    h("span.row-numbers", h("span", "reward ", h("b", numberText(row.reward))), row.advantage !== null && h("span.small", `advantage ${numberText(row.advantage)}`), h("span.small", counted(row.turns, "turn")))));
  return item;
}

/** @param {string} run @param {Row} row */
function rowPicture(run, row) {
  const url = row.image ? imageUrl(run, row.image, 128) : "";
  return url ? h("img.row-picture", { src: url, alt: "", width: 64, height: 64 }) : h("span.row-picture.none");
}
