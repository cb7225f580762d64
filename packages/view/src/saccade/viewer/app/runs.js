// @ts-check
/** The list of runs, one run, runs beside each other: what the server drew, with curves that grow. */

import { api, carried, listen } from "./api.js";
import { curvesView } from "./curves.js";
import { announce, built, h, later, many, notesOf, numbers, numberText, onLeave, redrawn, table, valueOf } from "./dom.js";

/** @typedef {import("./types").Run} Run */

export async function runsPage() {
  const answer = await api("/api/runs");
  const body = h("tbody");
  const beside = h("a.button", { href: "#/beside" }, "Compare selected runs");
  const chosen = new Set();
  const notes = h("div");
  let latest = answer;
  /** @type {Record<string, Record<string, any>>} by title a column of the reader's choice, by run */
  let columns = {};
  let extra = "";
  let order = { by: "", isDown: false };
  const head = h("th", { scope: "col", hidden: true });
  const shown = table("runs", ["Compare", sortable("Run", "name"), sortable("Started", "started"), "Status", "Curve", sortable("Accuracy", "accuracy"), sortable("Trajectories", "trajectories"), head], body);
  const chooser = h("select", { id: "run-column", onfocus: offer, onchange: choose }, h("option", { value: "" }, "none"));
  const more = h("p.row", beside, h("label", "Column ", chooser));

  /** @param {string} words @param {string} by */
  function sortable(words, by) {
    return h("th", { scope: "col" }, h("button", { type: "button", class: "sort", onclick: () => {
      order = { by, isDown: order.by === by ? !order.isDown : by !== "name" };
      for (const one of shown.querySelectorAll("th[aria-sort]")) one.removeAttribute("aria-sort");
      for (const one of shown.querySelectorAll("button.sort")) if (one.textContent === words) one.parentElement?.setAttribute("aria-sort", order.isDown ? "descending" : "ascending");
      draw(latest);
    } }, words));
  }

  async function offer() {
    if (chooser.children.length > 1) return;
    columns = (await api("/api/columns").catch(() => ({ columns: {} }))).columns;
    chooser.append(...Object.keys(columns).map((one) => h("option", { value: one }, one)));
  }

  function choose() {
    extra = valueOf(chooser);
    head.hidden = !extra;
    head.replaceChildren(...(extra ? sortable(extra, "extra").childNodes : []));
    draw(latest);
  }

  /** @param {Run} run */
  const extraOf = (run) => columns[extra]?.[run.id];

  /** @param {any} list */
  function sorted(list) {
    if (!order.by) return list.runs;
    const key = (/** @type {any} */ run) => (order.by === "extra" ? extraOf(run) : order.by === "accuracy" ? run.accuracy?.share : run[order.by]) ?? null;
    return [...list.runs].sort((a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === null || right === null) return Number(left === null) - Number(right === null);
      const least = typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right), "en", { numeric: true });
      return order.isDown ? -least : least;
    });
  }

  /** @param {any} list */
  function draw(list) {
    latest = list;
    const count = list.runs.length;
    notes.replaceChildren(...notesOf(list.notes), count ? "" : "No runs yet. A new run appears here by itself.");
    redrawn(body, () => body.replaceChildren(...sorted(list).map(line)));
    shown.hidden = !count;
    more.hidden = count < 2;
  }

  /** @param {Run} run */
  function line(run) {
    const box = h("input", { id: `choose-${run.id}`, type: "checkbox", "aria-label": `compare ${run.name}`, checked: chosen.has(run.id), onchange: choose });
    function choose() {
      if (!chosen.delete(run.id)) chosen.add(run.id);
      beside.setAttribute("href", `#/beside?${new URLSearchParams([...chosen].map((one) => ["run", one]))}`);
      beside.classList.toggle("ready", chosen.size > 1);
    }
    const told = extraOf(run);
    return h("tr", h("td", box), h("th", { scope: "row" }, h("a", { id: `run-${run.id}`, href: `#/run/${run.id}` }, run.name), run.title !== run.name && h("span.small.block", run.title)),
      h("td.small", String(run.started ?? "").slice(0, 16).replace("T", " ")), ["status", "spark", "accuracy"].map((name) => h("td", built(run.drawn[name]))), numbers(h("a", { id: `list-${run.id}`, href: `#/run/${run.id}/list` }, many(run.trajectories))),
      extra ? numbers(told === undefined ? "–" : typeof told === "number" ? numberText(told) : String(told)) : null);
  }

  draw(answer);
  const soon = later(async () => draw(await api("/api/runs").catch(() => answer)), 800);
  listen(notes, null, { step: soon, status: soon, index: soon, gone: soon });
  return h("div.page", h("h1", "Runs"), notes, shown, more);
}

/** @param {string} id */
export async function runPage(id) {
  const both = () => Promise.all([api(`/api/runs/${id}`), api(`/api/runs/${id}/curves`)]);
  const [run, curves] = await both();
  const status = h("p.row");
  const story = h("p.story");
  const counts = h("p.small");
  const tell = (/** @type {Run} */ now) => {
    story.textContent = [now.progress, now.story].filter(Boolean).join(" · ");
    story.hidden = !story.textContent;
    counts.textContent = now.words;
    status.replaceChildren(built(now.drawn.status));
  };
  tell(run);
  const drawn = curvesView([{ name: run.name, curves }]);
  const notes = h("div", notesOf([...run.notes, run.error].filter(Boolean)));
  const accuracy = h("div", built(run.drawn.accuracy));
  let told = JSON.stringify(run.drawn.accuracy);
  const soon = later(async () => {
    const [now, next] = await both().catch(() => [run, curves]);
    drawn.grow([{ name: now.name, curves: next }]);
    tell(now);
    if (told !== (told = JSON.stringify(now.drawn.accuracy))) accuracy.replaceChildren(built(now.drawn.accuracy));
  }, 400);
  if (!carried) {
    // How long ago it last wrote grows also while it writes nothing.
    const timer = window.setInterval(soon, 30_000);
    onLeave(() => window.clearInterval(timer));
  }
  listen(notes, id, { step: soon, metrics: soon, index: soon, status: soon, gone: (data) => { announce(data.why); notes.replaceChildren(...notesOf([data.why])); } });
  return h("div.page.run", status, h("h1", run.title), story, notes, counts,
    h("p.row", run.drawn.links.map(built), !carried && h("a.button", { href: `#/run/${id}/marks` }, "Marks of readers")),
    accuracy, run.drawn.sections.map(built), drawn.element, built(run.drawn.settings));
}

/** @param {URLSearchParams} query */
export async function besidePage(query) {
  const ids = query.getAll("run").slice(0, 6);
  const title = h("h1", "Compare runs");
  if (ids.length < 2) return h("div.page", title, h("p", "Select two or more ", h("a", { href: "#/" }, "runs"), "."));
  const [beside, ...curves] = await Promise.all([api(`/api/beside?${new URLSearchParams(ids.map((id) => ["run", id]))}`), ...ids.map((id) => api(`/api/runs/${id}/curves`))]);
  return h("div.page", title, built(beside.drawn.settings), built(beside.drawn.accuracy), curvesView(curves.map((one, at) => ({ name: beside.names[at], curves: one }))).element);
}
