// @ts-check
/** Curves of one or more runs: of each stage that trains the report's charts, then the others; one bar of settings for all. */

import { chart } from "./charts.js";
import { cloned, h, later, readable } from "./dom.js";

/** @typedef {import("./types").Curves} Curves */
/** @typedef {{ name: string, curves: Curves }} Source */

/** Of several runs a stage shows so many charts, the others at one click. */
const FEW = 3;

/** @param {Source[]} sources */
export function curvesView(sources) {
  /** @type {{ smoothing: number, isLog: boolean, axis: string }} */
  let look = { smoothing: 0, isLog: false, axis: "step" };
  /** @type {{ chart: ReturnType<typeof chart>, stage: string, labels: Record<string, string> }[]} */
  const charts = [];
  /** @type {Map<string, { key: string, words: string, element: HTMLElement }>} */
  const drawn = new Map();
  const holder = h("div");
  const bar = cloned("curves-bar");
  const [search, smoothing, log, axis] = /** @type {NodeListOf<HTMLInputElement>} */ (bar.querySelectorAll("input, select"));
  search.addEventListener("input", later(build, 200));
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
    return sources.flatMap((source, at) => {
      const columns = source.curves.stages[stage];
      const along = /** @type {any} */ (columns)?.[look.axis];
      const there = Object.entries(labels).filter(([metric]) => columns?.metrics[metric]);
      // Of several runs a color is a run, and a dash one of its lines.
      return there.map(([metric, label], line) => ({ name: there.length < 2 && sources.length > 1 ? "" : label, run: sources.length > 1 ? source.name : "", color: sources.length > 1 ? at : line, dash: sources.length > 1 ? line : line % 2,
        x: along?.some((/** @type {any} */ x) => x !== null) ? along : columns.step, y: columns.metrics[metric] }));
    });
  }

  /** Stages that are new, or have new metrics, are drawn; the others stay as they are. */
  function build() {
    const runsOf = (/** @type {string} */ stage) => sources.filter((source) => source.curves.stages[stage]).length;
    const stages = [...new Set(sources.flatMap((source) => Object.keys(source.curves.stages)))].sort((a, b) => runsOf(b) - runsOf(a));
    const words = search.value.trim().toLowerCase();
    for (const stage of stages) {
      const there = sources.flatMap((source) => source.curves.stages[stage] ?? []);
      const metrics = [...new Set(there.flatMap((one) => Object.keys(one.metrics)))].filter((metric) => `${metric} ${readable(metric)}`.toLowerCase().includes(words));
      /** @type {Map<string, import("./types").Panel>} */
      const byTitle = new Map();
      for (const panel of words ? [] : there.flatMap((one) => one.panels)) byTitle.set(panel.title, { ...panel, lines: { ...byTitle.get(panel.title)?.lines, ...panel.lines } });
      const panels = [...byTitle.values()];
      const [key, known] = [`${metrics}${JSON.stringify(panels)}`, drawn.get(stage)];
      if (known?.key === key) continue;
      const few = sources.length < 2 ? 99 : there.length < 2 ? 0 : FEW;
      const first = panels.slice(0, few);
      const inPanels = new Set(panels.flatMap((panel) => Object.keys(panel.lines)));
      const others = metrics.filter((metric) => !inPanels.has(metric));
      const count = panels.length - first.length + others.length;
      const more = h("details", { open: words || (few && !first.length) || (known && !known.words && known.element.querySelector("details")?.open) }, h("summary", `${count} more, by group`));
      const fill = () => more.children.length === 1 && more.append(row(stage, panels.slice(first.length)), ...grouped(stage, others));
      if (known) charts.splice(0, charts.length, ...charts.filter((one) => !known.element.contains(one.chart.element)));
      if (more.hasAttribute("open")) fill();
      else more.addEventListener("toggle", fill, { once: true });
      const element = h("section", { hidden: !metrics.length }, h("h2", readable(stage), !few && h("span.small", " of one run alone")), row(stage, first), count > 0 && more);
      known ? known.element.replaceWith(element) : holder.append(element);
      drawn.set(stage, { key, words, element });
    }
    all.hidden = !drawn.size;
  }

  /** @param {string} stage @param {string[]} metrics */
  function grouped(stage, metrics) {
    const groupOf = (/** @type {string} */ metric) => (metric.includes("/") ? metric.split("/")[0] : "other");
    return [...new Set(metrics.map(groupOf))].map((group) => h("section", h("h3", readable(group)),
      row(stage, metrics.filter((metric) => groupOf(metric) === group).map((metric) => ({ title: readable(metric), subtitle: "", lines: { [metric]: readable(metric) } })))));
  }

  /** @param {string} stage @param {import("./types").Panel[]} panels */
  function row(stage, panels) {
    return h("div.curves", panels.map(({ title, subtitle, lines }) => {
      const one = chart(title, subtitle, linesOf(stage, lines), look);
      charts.push({ chart: one, stage, labels: lines });
      return one.element;
    }));
  }

  const legend = sources.length > 1 && h("p.legend", sources.map((source, index) => h("span", { class: `series-${index % 6}` }, h("i"), source.name)));
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
