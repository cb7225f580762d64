// @ts-check
/** The list of runs, one run, runs beside each other: what the server drew, with curves that grow. */

import { api, carried, listen } from "./api.js";
import { curvesView } from "./curves.js";
import { announce, built, h, later, many, notesOf, numbers, redrawn, table } from "./dom.js";

/** @typedef {import("./types").Run} Run */

export async function runsPage() {
  const answer = await api("/api/runs");
  const body = h("tbody");
  const beside = h("a.button", { href: "#/beside" }, "Compare selected runs");
  const chosen = new Set();
  const notes = h("div");
  const shown = table("runs", ["Compare", "Run", "Status", "Curve", "Accuracy", "Trajectories"], body);
  const more = h("p", beside);

  /** @param {any} list */
  function draw(list) {
    const count = list.runs.length;
    notes.replaceChildren(...notesOf(list.notes), count ? "" : "No runs yet. A new run appears here by itself.");
    redrawn(body, () => body.replaceChildren(...list.runs.map(line)));
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
    return h("tr", h("td", box), h("th", { scope: "row" }, h("a", { id: `run-${run.id}`, href: `#/run/${run.id}` }, run.name), run.title !== run.name && h("span.small.block", run.title)),
      ["status", "spark", "accuracy"].map((name) => h("td", built(run.drawn[name]))), numbers(h("a", { id: `list-${run.id}`, href: `#/run/${run.id}/list` }, many(run.trajectories))));
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
  const status = h("p.row", built(run.drawn.status));
  const counts = h("p.small", run.words);
  const drawn = curvesView([{ name: run.name, curves }]);
  const notes = h("div", notesOf([...run.notes, ...(run.error ? [run.error] : [])]));
  const accuracy = h("div", built(run.drawn.accuracy));
  let told = JSON.stringify(run.drawn.accuracy);
  const soon = later(async () => {
    const [now, next] = await both().catch(() => [run, curves]);
    drawn.grow([{ name: now.name, curves: next }]);
    counts.textContent = now.words;
    status.replaceChildren(built(now.drawn.status));
    if (told !== (told = JSON.stringify(now.drawn.accuracy))) accuracy.replaceChildren(built(now.drawn.accuracy));
  }, 400);
  listen(notes, id, { step: soon, metrics: soon, index: soon, status: soon, gone: (data) => { announce(data.why); notes.replaceChildren(...notesOf([data.why])); } });
  return h("div.page.run", status, h("h1", run.title), run.story && h("p.story", run.story), notes, counts,
    h("p.row", run.drawn.links.map(built), !carried && h("a.button", { href: `#/run/${id}/marks` }, "Marks of readers")),
    accuracy, drawn.element, built(run.drawn.settings));
}

/** @param {URLSearchParams} query */
export async function besidePage(query) {
  const ids = query.getAll("run").slice(0, 6);
  const title = h("h1", "Compare runs");
  if (ids.length < 2) return h("div.page", title, h("p", "Select two or more ", h("a", { href: "#/" }, "runs"), "."));
  const [beside, ...curves] = await Promise.all([api(`/api/beside?${new URLSearchParams(ids.map((id) => ["run", id]))}`), ...ids.map((id) => api(`/api/runs/${id}/curves`))]);
  return h("div.page", title, built(beside.drawn.accuracy), built(beside.drawn.settings), curvesView(curves.map((one, at) => ({ name: beside.names[at], curves: one }))).element);
}
