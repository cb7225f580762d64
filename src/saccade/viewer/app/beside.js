// @ts-check
/** Runs beside each other: settings that differ, curves on common axes, accuracy with paired differences. */

import { api } from "./api.js";
import { curvesView } from "./curves.js";
import { h, numberText, percentText, readable, shareBar, table } from "./dom.js";

/** @param {URLSearchParams} query */
export async function besidePage(query) {
  const ids = query.getAll("run").slice(0, 6);
  if (ids.length < 2) return h("div.page", h("h1", "Runs beside each other"), h("p", "Choose two or more of the ", h("a", { href: "#/" }, "runs"), "."));
  const [beside, ...curves] = await Promise.all([api(`/api/beside?${ids.map((id) => `run=${id}`).join("&")}`), ...ids.map((id) => api(`/api/runs/${id}/curves`))]);
  const names = namesOf(beside.runs);
  return h("div.page", h("h1", "Runs beside each other"), accuracyTable(beside, names), curvesView(curves.map((one, index) => ({ name: names[index], curves: one }))).element, settingsTable(beside, names));
}

/** Names that tell runs apart. @param {{ name: string, id: string }[]} runs */
function namesOf(runs) {
  return runs.map((run, at) => (runs.some((other, index) => index !== at && other.name === run.name) ? `${run.name} ${run.id.slice(0, 4)}` : run.name));
}

/** @param {any} beside @param {string[]} names */
function accuracyTable(beside, names) {
  if (!beside.accuracy?.length) return h("p.small", "No evaluation is in all of them.");
  return h("section", h("h2", "Accuracy"), table("accuracy", ["Evaluation", ...names, "Difference on the same questions"],
    beside.accuracy.map((/** @type {any} */ row) => [readable(row.name), ...row.cells.map(shareBar), (row.differences ?? []).map((/** @type {any} */ one) => h("span.block", differenceText(one, names, beside.runs)))])));
}

/** @param {any} one @param {string[]} names @param {{ id: string }[]} runs */
function differenceText(one, names, runs) {
  const name = (/** @type {any} */ which) => names[typeof which === "number" ? which : runs.findIndex((run) => run.id === which)] ?? String(which);
  const p = one.p === null || one.p === undefined ? "" : `, p ${numberText(one.p)}`;
  return `${name(one.b)} − ${name(one.a)}: ${percentText(one.mean)} (${percentText(one.low)} to ${percentText(one.high)}, ${one.n} questions${p})`;
}

/** @param {any} beside @param {string[]} names */
function settingsTable(beside, names) {
  if (!beside.settings?.length) return h("p.small", "All their settings are the same.");
  return h("section", h("h2", "Settings that differ"), table("settings that differ", ["Setting", ...names], beside.settings.map((/** @type {any} */ row) => [h("code", row.key), ...row.values.map((/** @type {any} */ value) => String(value ?? "–"))])));
}
