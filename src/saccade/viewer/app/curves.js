// @ts-check
/** Curves of one or more runs: of each stage that trains the report's charts, then the others; one bar of settings for all. */

import { chart } from "./charts.js";
import { cloned, h, readable } from "./dom.js";

/** @typedef {import("./types").Curves} Curves */
/** @typedef {{ name: string, curves: Curves }} Source */

/** @param {Source[]} sources */
export function curvesView(sources) {
  /** @type {{ smoothing: number, isLog: boolean, axis: string }} */
  let look = { smoothing: 0, isLog: false, axis: "step" };
  /** @type {{ chart: ReturnType<typeof chart>, stage: string, labels: Record<string, string> }[]} */
  const charts = [];
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
    for (const one of charts) one.chart.look(look, linesOf(one.stage, one.labels));
  }

  /** @param {string} stage @param {Record<string, string>} labels by metric */
  function linesOf(stage, labels) {
    return sources.flatMap((source) => {
      const columns = source.curves.stages[stage];
      const along = /** @type {any} */ (columns)?.[look.axis];
      const there = Object.entries(labels).filter(([metric]) => columns?.metrics[metric]);
      return there.map(([metric, label]) => ({ name: sources.length < 2 ? label : there.length < 2 ? source.name : `${source.name}, ${label}`,
        x: along?.some((/** @type {any} */ x) => x !== null) ? along : columns.step, y: columns.metrics[metric] }));
    });
  }

  /** Stages that are new, or have new metrics, are drawn; the others stay as they are. */
  function build() {
    const stages = [...new Set(sources.flatMap((source) => Object.keys(source.curves.stages)))];
    for (const stage of stages) {
      const there = sources.flatMap((source) => source.curves.stages[stage] ?? []);
      const metrics = [...new Set(there.flatMap((one) => Object.keys(one.metrics)))];
      const panels = Object.values(Object.fromEntries(there.flatMap((one) => one.panels.map((panel) => [panel.title, panel]))));
      const [key, known] = [`${metrics}${JSON.stringify(panels)}`, drawn.get(stage)];
      if (known?.key === key) continue;
      const inPanels = new Set(panels.flatMap((panel) => Object.keys(panel.lines)));
      const others = metrics.filter((metric) => !inPanels.has(metric));
      const more = h("details", { open: !panels.length || known?.element.querySelector("details")?.open }, h("summary", `${others.length} more, by group`));
      const fill = () => more.children.length === 1 && more.append(...grouped(stage, others));
      if (panels.length) more.addEventListener("toggle", fill, { once: true });
      else fill();
      const element = h("section", h("h2", readable(stage)), h("div.curves", panels.map((panel) => made(stage, panel.title, panel.subtitle, panel.lines))), others.length > 0 && more);
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
    return [...groups].map(([group, names]) => h("section", h("h3", readable(group)), h("div.curves", names.map((/** @type {string} */ metric) => made(stage, readable(metric), "", { [metric]: readable(metric) })))));
  }

  /** @param {string} stage @param {string} title @param {string} subtitle @param {Record<string, string>} labels by metric */
  function made(stage, title, subtitle, labels) {
    const one = chart(title, subtitle, linesOf(stage, labels), look);
    charts.push({ chart: one, stage, labels });
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
      for (const one of charts) one.chart.grow(linesOf(one.stage, one.labels));
      build();
    },
  };
}
