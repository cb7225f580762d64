// @ts-check
/** All curves of one or more runs, by stage, the telling ones first; one bar of settings for all of them. */

import { chart } from "./charts.js";
import { cloned, h, readable } from "./dom.js";

/** @typedef {import("./types").Curves} Curves */
/** @typedef {{ name: string, curves: Curves }} Source */

const OPEN = 9;

/** @param {Source[]} sources */
export function curvesView(sources) {
  /** @type {{ smoothing: number, isLog: boolean, axis: string }} */
  let look = { smoothing: 0, isLog: false, axis: "step" };
  /** @type {Map<string, ReturnType<typeof chart>>} */
  const charts = new Map();
  /** @type {Map<string, { key: string, element: HTMLElement }>} */
  const drawn = new Map();
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

  /** Stages that are new, or have new metrics, are drawn; the others stay as they are. */
  function build() {
    for (const stage of new Set(sources.flatMap((source) => Object.keys(source.curves.stages)))) {
      const metrics = [...new Set(sources.flatMap((source) => Object.keys(source.curves.stages[stage]?.metrics ?? {})))];
      const [key, known] = [metrics.join(), drawn.get(stage)];
      if (known?.key === key) continue;
      const [first, others] = [metrics.slice(0, OPEN), metrics.slice(OPEN)];
      const more = h("details", { open: known?.element.querySelector("details")?.open }, h("summary", `${others.length} more, by group`));
      more.addEventListener("toggle", () => more.children.length === 1 && more.append(...grouped(stage, others)), { once: true });
      const element = h("section", h("h2", readable(stage)), h("div.curves", first.map((metric) => made(stage, metric))), others.length > 0 && more);
      if (known) known.element.replaceWith(element);
      else holder.append(element);
      drawn.set(stage, { key, element });
    }
    all.hidden = !drawn.size;
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

  const legend = sources.length > 1 && h("p.legend", sources.map((source, index) => h("span", { class: `series-${index % 6}` }, h("i", { class: index % 2 ? "dashed" : "" }), source.name)));
  const all = h("section.all-curves", { "aria-label": "Curves" }, bar, legend, holder);
  build();
  return {
    element: all,
    /** @param {Source[]} next */
    grow(next) {
      sources.splice(0, sources.length, ...next);
      for (const [key, one] of charts) one.grow(linesOf(...split(key)));
      build();
    },
  };
}
