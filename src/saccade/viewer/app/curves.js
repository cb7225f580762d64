// @ts-check
/** All curves of one or more runs, by stage, the telling ones first; one bar of settings for all of them. */

import { chart } from "./charts.js";
import { cloned, h, readable } from "./dom.js";

/** @typedef {import("./types").Curves} Curves */
/** @typedef {{ name: string, curves: Curves }} Source */

const FIRST = [/^reward\/mean$/, /^reward$/, /accuracy/, /^eval/, /^loss/, /reward/, /entropy/, /^kl|\/kl/, /length|tokens_mean/, /tool|calls/, /gradient|grad_norm/];
const OPEN = 9;

/** @param {Source[]} sources */
export function curvesView(sources) {
  /** @type {{ smoothing: number, isLog: boolean, axis: string }} */
  let look = { smoothing: 0, isLog: false, axis: "step" };
  /** @type {Map<string, ReturnType<typeof chart>>} */
  const charts = new Map();
  const holder = h("div");
  const bar = cloned("curves-bar");
  const [smoothing, log, axis] = /** @type {NodeListOf<HTMLInputElement>} */ (bar.querySelectorAll("input, select"));
  smoothing.addEventListener("input", () => relook({ smoothing: Number(smoothing.value) }));
  log.addEventListener("change", () => relook({ isLog: log.checked }));
  axis.addEventListener("change", () => relook({ axis: axis.value }));

  /** @param {Partial<typeof look>} change */
  function relook(change) {
    look = { ...look, ...change };
    for (const [key, one] of charts) one.look(look, linesOf(...split(key)));
  }

  /** @param {string} key @returns {[string, string]} */
  const split = (key) => /** @type {[string, string]} */ (key.split("\n", 2));

  /** @param {string} stage @param {string} metric */
  function linesOf(stage, metric) {
    return sources.flatMap((source) => {
      const columns = source.curves.stages[stage];
      if (!columns?.metrics[metric]) return [];
      const along = /** @type {any} */ (columns)[look.axis];
      return [{ name: source.name, x: along?.some((/** @type {any} */ x) => x !== null) ? along : columns.step, y: columns.metrics[metric] }];
    });
  }

  function build() {
    const stages = [...new Set(sources.flatMap((source) => Object.keys(source.curves.stages)))];
    const sections = stages.map((stage) => {
      const metrics = [...new Set(sources.flatMap((source) => Object.keys(source.curves.stages[stage]?.metrics ?? {})))].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
      const [first, others] = [metrics.slice(0, OPEN), metrics.slice(OPEN)];
      const more = h("details.more-curves", h("summary", `${others.length} more, by group`));
      more.addEventListener("toggle", () => more.children.length === 1 && more.append(...grouped(stage, others)), { once: true });
      return h("section", h("h2", readable(stage)), h("div.curves", first.map((metric) => made(stage, metric))), others.length > 0 && more);
    });
    holder.replaceChildren(...sections);
  }

  /** @param {string} stage @param {string[]} metrics */
  function grouped(stage, metrics) {
    const groups = new Map();
    for (const metric of metrics) {
      const group = metric.includes("/") ? metric.split("/")[0] : "other";
      groups.set(group, [...(groups.get(group) ?? []), metric]);
    }
    return [...groups].map(([group, names]) => h("section", h("h3", readable(group)), h("div.curves", names.map((/** @type {string} */ metric) => made(stage, metric)))));
  }

  /** @param {string} stage @param {string} metric */
  function made(stage, metric) {
    const one = chart(readable(metric), linesOf(stage, metric), look);
    charts.set(`${stage}\n${metric}`, one);
    return one.element;
  }

  build();
  const legend = sources.length > 1 && h("p.legend", sources.map((source, index) => h("span", { class: `series-${index % 6}` }, h("i", { class: index % 2 ? "dashed" : "" }), source.name)));
  return {
    element: h("section.all-curves", { "aria-label": "Curves" }, bar, legend, holder),
    /** @param {Source[]} next */
    grow(next) {
      sources.splice(0, sources.length, ...next);
      for (const [key, one] of charts) one.grow(linesOf(...split(key)));
    },
  };
}

/** @param {string} metric */
function rank(metric) {
  const at = FIRST.findIndex((pattern) => pattern.test(metric));
  return at < 0 ? FIRST.length : at;
}
