// @ts-check
/** The list of runs, and one run: its story, accuracy, curves, settings. */

import { api, carried, listen } from "./api.js";
import { curvesView } from "./curves.js";
import { ageText, announce, counted, h, later, many, numbers, readable, shareBar, svg, table } from "./dom.js";

/** @typedef {import("./types").Run} Run */

const STATUS_MARKS = { running: "● running", stopped: "■ stopped", finished: "✓ finished", failed: "✗ failed", evaluation: "evaluation", foreign: "other trainer" };

export async function runsPage() {
  const answer = await api("/api/runs");
  const page = h("div.page");
  const body = h("tbody");
  const beside = h("a.button", { href: "#/beside" }, "Put the chosen beside each other");
  const chosen = new Set();
  const notes = h("div");

  /** @param {any} list */
  function draw(list) {
    notes.replaceChildren(...(list.notes ?? []).map((/** @type {string} */ note) => h("p.note", note)));
    body.replaceChildren(...list.runs.map((/** @type {Run} */ run) => runLine(run)));
  }

  /** @param {Run} run */
  function runLine(run) {
    return h("tr", h("td", h("input", { type: "checkbox", "aria-label": `compare ${run.name}`, checked: chosen.has(run.id), onchange: (/** @type {Event} */ event) => choose(run.id, /** @type {HTMLInputElement} */ (event.target).checked) })),
      h("th", { scope: "row" }, h("a", { href: `#/run/${run.id}` }, run.name || run.title), run.title && run.title !== run.name && h("span.small.block", run.title)),
      h("td", statusView(run)), h("td", sparkLine(run.spark)), h("td", shareBar(run.accuracy), run.accuracy?.name && h("span.small.block", readable(run.accuracy.name))),
      numbers(h("a", { href: `#/run/${run.id}/list` }, many(run.trajectories))));
  }

  /** @param {string} id @param {boolean} isOn */
  function choose(id, isOn) {
    if (isOn) chosen.add(id);
    else chosen.delete(id);
    beside.setAttribute("href", `#/beside?${[...chosen].map((one) => `run=${one}`).join("&")}`);
    beside.classList.toggle("ready", chosen.size > 1);
  }

  draw(answer);
  const soon = later(async () => draw(await api("/api/runs").catch(() => answer)), 800);
  listen(null, { step: soon, status: soon, index: soon, gone: soon });
  page.append(h("h1", "Runs"), notes,
    answer.runs.length ? table("runs", ["Compare", "Run", "Status", "Curve", "Accuracy", "Trajectories"], body) : h("p", answer.note ?? "No run was found."),
    answer.runs.length > 1 ? h("p", beside) : h("span"));
  return page;
}

/** @param {Run} run */
export function statusView(run) {
  const words = /** @type {any} */ (STATUS_MARKS)[run.status] ?? run.status;
  return h("span", { class: `status ${run.status}` }, words, run.seen_s_ago !== null && run.seen_s_ago !== undefined && h("span.small.block", `${ageText(run.seen_s_ago)} ago`));
}

/** @param {(number | null)[] | null} values */
export function sparkLine(values) {
  const there = (values ?? []).filter((value) => value !== null);
  if (!values || there.length < 2) return h("span.small", "–");
  const low = Math.min(...there);
  const high = Math.max(...there);
  const points = values.flatMap((value, at) => (value === null ? [] : [`${((100 * at) / (values.length - 1)).toFixed(1)},${(22 - (20 * (value - low)) / (high - low || 1)).toFixed(1)}`]));
  return svg("svg.spark", { viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img", "aria-label": `from ${there[0]} to ${there[there.length - 1]}` }, svg("polyline", { points: points.join(" ") }));
}

/** @param {string} id */
export async function runPage(id) {
  const [run, curves] = await Promise.all([api(`/api/runs/${id}`), api(`/api/runs/${id}/curves`).catch(() => ({ stages: {} }))]);
  const status = h("span", statusView(run));
  const counts = h("p.small", whatIsThere(run));
  const drawn = curvesView([{ name: run.name, curves }]);
  const notes = h("div", (run.notes ?? []).map((/** @type {string} */ note) => h("p.note", note)), run.error && h("p.note", run.error));
  const soon = later(async () => {
    const [now, next] = await Promise.all([api(`/api/runs/${id}`), api(`/api/runs/${id}/curves`)]).catch(() => [run, curves]);
    drawn.grow([{ name: now.name, curves: next }]);
    counts.textContent = whatIsThere(now);
    status.replaceChildren(statusView(now));
  }, 400);
  listen(id, { step: soon, metrics: soon, index: soon, status: soon, gone: (data) => { announce(data.why); notes.replaceChildren(h("p.note", data.why)); } });
  return h("div.page.run", h("p.row", status), h("h1", run.title || run.name), run.story && h("p.story", run.story), notes, counts,
    h("p.row", h("a.button.ready", { href: `#/run/${id}/list` }, "All trajectories"), h("a.button", { href: `#/run/${id}/list?right=0` }, "Wrong ones"), !carried && h("a.button", { href: `#/run/${id}/marks` }, "Marks of readers"),
      (run.evaluations ?? []).length > 1 && h("a.button", { href: `#/evaluations?a=${id}/${run.evaluations[0].name}&b=${id}/${run.evaluations[run.evaluations.length - 1].name}` }, "First and last evaluation beside each other")),
    evaluationTable(run), Object.keys(curves.stages).length > 0 ? drawn.element : h("span"), settingsView(run));
}

/** @param {Run} run */
function whatIsThere(run) {
  const indexing = run.indexing ? `; indexing, ${run.indexing.done} of ${run.indexing.of} files` : "";
  return `${counted(run.trajectories, "trajectory", "trajectories")} in ${(run.stages ?? []).map((stage) => `${readable(stage.name)} (${many(stage.trajectories)})`).join(", ") || "no stage yet"}${indexing}`;
}

/** @param {Run} run */
function evaluationTable(run) {
  if (!run.evaluations?.length) return null;
  const to = (/** @type {string} */ words, /** @type {Record<string, string>} */ query) => h("a", { href: `#/run/${run.id}/list?${new URLSearchParams(query)}` }, words);
  return h("section", h("h2", "Accuracy"), table("accuracy", ["Evaluation", "Right, with 95 % interval", "Look at"], run.evaluations.flatMap((one) => [
    [readable(one.name), shareBar(one), [to("all", { stage: one.name }), " · ", to("wrong", { stage: one.name, right: "0" })]],
    ...(one.families.length > 1 ? one.families.map((family) => h("tr.family", h("th", { scope: "row" }, readable(family.name)), h("td", shareBar(family)), h("td", to("wrong", { stage: one.name, family: family.name, right: "0" })))) : []),
  ])), (run.comparisons ?? []).map((one) => h("p.small", `${readable(one.before)} → ${readable(one.after)}: ${one.text}`)));
}

/** @param {Run} run */
function settingsView(run) {
  const settings = Object.entries(run.settings ?? {});
  if (!settings.length && !run.command) return null;
  return h("details.card", h("summary", `Command and ${counted(settings.length, "setting")}`), run.command && h("pre.code", run.command),
    h("dl.notes", settings.map(([name, value]) => [h("dt", name), h("dd", typeof value === "string" ? value : JSON.stringify(value))])));
}
