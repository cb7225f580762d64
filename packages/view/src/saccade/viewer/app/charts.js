// @ts-check
/** Curves: several lines on one axis, smoothed with the raw line behind; values by pointer, touch and keys. */

import { h, numberText } from "./dom.js";

/** @typedef {{ name: string, run: string, color: number, dash: number, x: (number | null)[], y: (number | null)[] }} Line */
/** @typedef {{ smoothing: number, isLog: boolean, axis: string }} Look */

const HEIGHT_PX = 190;
const COLORS = 6;
const DASHES = [undefined, [6, 3], [2, 3]];

/** @param {string} name of a custom property */
function colorOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Exponential mean, corrected for its begin. @param {(number | null)[]} values @param {number} weight from 0 (none) to below 1 */
function smoothed(values, weight) {
  let mean = 0;
  let sum = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = weight * mean + (1 - weight) * value;
    sum = weight * sum + (1 - weight);
    return mean / sum;
  });
}

/** Lines joined on one sorted axis. @param {Line[]} lines */
function joined(lines) {
  const axis = [...new Set(lines.flatMap((line) => line.x.filter((x) => x !== null)))].sort((a, b) => Number(a) - Number(b));
  const places = new Map(axis.map((x, at) => [x, at]));
  const columns = lines.map((line) => {
    const column = new Array(axis.length).fill(null);
    line.x.forEach((x, at) => {
      if (x !== null) column[/** @type {number} */ (places.get(x))] = line.y[at];
    });
    return column;
  });
  return { axis: /** @type {number[]} */ (axis), columns };
}

/** A curve with its title, its unit and its values. @param {string} title @param {string} subtitle @param {Line[]} lines @param {Look} look */
export function chart(title, subtitle, lines, look) {
  const holder = h("div.plot", { tabindex: 0, role: "group", "aria-label": `${title}; arrow keys go along, plus and minus zoom, 0 shows all` });
  const readout = h("output.small.values");
  const element = h("figure.curve", h("figcaption", h("b", title), subtitle && h("span.small.block", subtitle)), holder, readout);
  /** @type {any} */
  let plot = null;
  let shownLines = lines;
  let shownLook = look;
  /** @type {{ axis: number[], columns: (number | null)[][] }} */
  let points = { axis: [], columns: [] };

  function tell() {
    const at = plot?.cursor.idx;
    const place = typeof at === "number" ? at : points.axis.length - 1;
    // Runs may end at different steps: without a pointer each says its last value.
    const isLast = typeof at !== "number" && shownLines.some((line) => line.run);
    const values = shownLines.map((line, index) => ({ line, value: isLast ? points.columns[index]?.findLast((one) => one !== null) : points.columns[index]?.[place] })).filter((one) => one.value !== null && one.value !== undefined);
    readout.replaceChildren(isLast ? "last: " : `${shownLook.axis} ${numberText(points.axis[place])}: `, ...values.map(({ line, value }, index) => {
      const run = line.run && line.run !== values[index - 1]?.line.run ? `${line.run} ` : "";
      return h("span", { class: `value series-${line.color % COLORS}` }, `${index ? " " : ""}${run}${shownLines.length > 1 && line.name ? `${line.name} ` : ""}`, h("b", { class: line.run && `dash-${line.dash % DASHES.length}` }, numberText(value)));
    }));
  }

  function columnsShown() {
    const clean = (/** @type {(number | null)[]} */ values) => (shownLook.isLog ? values.map((value) => (value !== null && value > 0 ? value : null)) : values);
    return [points.axis, ...points.columns.map(clean), ...(shownLook.smoothing > 0 ? points.columns.map((column) => clean(smoothed(column, shownLook.smoothing))) : [])];
  }

  function build() {
    if (!("uPlot" in window)) return addEventListener("load", build, { once: true });
    plot?.destroy();
    points = joined(shownLines);
    const isSmooth = shownLook.smoothing > 0;
    const styles = (/** @type {object} */ more) => shownLines.map((line) => ({ stroke: colorOf(`--series-${line.color % COLORS}`), width: 2, dash: DASHES[line.dash % DASHES.length], spanGaps: true, points: { show: false }, ...more }));
    const raw = { points: { show: points.axis.length < 3 }, ...(isSmooth && { width: 1, alpha: 0.35 }) };
    const axis = { stroke: colorOf("--ink-2"), grid: { stroke: colorOf("--line"), width: 1 }, ticks: { stroke: colorOf("--line"), width: 1 }, font: "12px system-ui" };
    plot = new uPlot({
      width: Math.max(holder.clientWidth, 120), height: HEIGHT_PX, legend: { show: false }, cursor: { drag: { x: true, y: false } }, padding: [8, 12, 0, 0],
      scales: { x: { time: false }, y: { distr: shownLook.isLog ? 3 : 1 } },
      axes: [axis, { ...axis, size: 56, values: (/** @type {any} */ _, /** @type {(number | null)[]} */ ticks) => ticks.map((tick) => (tick === null ? "" : numberText(tick))) }],
      series: [{}, ...styles(raw), ...(isSmooth ? styles({}) : [])], hooks: { setCursor: [tell] },
    }, columnsShown(), holder);
    tell();
  }

  /** @param {number} step */
  function go(step) {
    const at = Math.min(Math.max((typeof plot.cursor.idx === "number" ? plot.cursor.idx : points.axis.length - 1) + step, 0), points.axis.length - 1);
    plot.setCursor({ left: plot.valToPos(points.axis[at], "x"), top: HEIGHT_PX / 3 });
  }

  /** @param {number} factor */
  function zoom(factor) {
    const { min, max } = plot.scales.x;
    const center = typeof plot.cursor.idx === "number" ? points.axis[plot.cursor.idx] : (min + max) / 2;
    plot.setScale("x", { min: center - (center - min) / factor, max: center + (max - center) / factor });
  }

  holder.addEventListener("keydown", (event) => {
    /** @type {Record<string, () => void>} */
    const acts = { ArrowRight: () => go(1), ArrowLeft: () => go(-1), Home: () => go(-1e9), End: () => go(1e9), "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: () => plot.setScale("x", { min: points.axis[0], max: points.axis[points.axis.length - 1] }) };
    if (!plot || !acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
  });
  const touched = (/** @type {TouchEvent} */ event) => {
    const rect = holder.querySelector(".u-over")?.getBoundingClientRect();
    if (rect && plot) plot.setCursor({ left: event.touches[0].clientX - rect.left, top: event.touches[0].clientY - rect.top });
  };
  holder.addEventListener("touchstart", touched, { passive: true });
  holder.addEventListener("touchmove", touched, { passive: true });
  const ground = window.matchMedia("(prefers-color-scheme: dark)");
  const recolored = () => plot && build();
  ground.addEventListener("change", recolored);
  let width = 0;
  new ResizeObserver(() => {
    if (!holder.isConnected) {
      ground.removeEventListener("change", recolored);
      plot?.destroy();
      return void (plot = null);
    }
    if (Math.abs(holder.clientWidth - width) < 2) return;
    width = holder.clientWidth;
    if (plot) plot.setSize({ width: Math.max(width, 120), height: HEIGHT_PX });
    else build();
  }).observe(holder);

  return {
    element,
    /** New points without a jump: zoom and cursor stay. @param {Line[]} next */
    grow(next) {
      const isAsMany = next.length === shownLines.length;
      shownLines = next;
      if (!plot) return;
      if (!isAsMany) return build();
      const whole = points.axis;
      const { min, max } = plot.scales.x;
      const isZoomed = whole.length > 1 && (min > whole[0] || max < whole[whole.length - 1]);
      points = joined(next);
      plot.setData(columnsShown(), !isZoomed);
      if (isZoomed) plot.setScale("x", { min, max });
      tell();
    },
    /** @param {Look} next @param {Line[]} nextLines */
    look(next, nextLines) {
      shownLook = next;
      shownLines = nextLines;
      if (plot) build();
    },
  };
}
