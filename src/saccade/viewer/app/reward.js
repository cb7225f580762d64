// @ts-check
/** A reward taken apart as a bar to its total, and where a trajectory's time went. */

import { h, numbers, numberText, readable, svg, table } from "./dom.js";

/** @param {import("./types").Reward | null} reward */
export function rewardParts(reward) {
  if (!reward) return h("section.reward.card", h("h2", "Reward"), h("p.small", "It has no score."));
  const parts = reward.terms.filter((term) => term.contribution !== null);
  const up = parts.reduce((sum, term) => sum + Math.max(term.contribution ?? 0, 0), 0);
  const down = parts.reduce((sum, term) => sum + Math.min(term.contribution ?? 0, 0), 0);
  const most = parts.reduce((sum, term) => sum + Math.max(term.weight ?? 0, 0), 0);
  const width = Math.max(up, most) - down || 1;
  const x = (/** @type {number} */ value) => (100 * (value - down)) / width;
  let right = 0;
  let left = 0;
  const bars = parts.map((term, index) => {
    const value = term.contribution ?? 0;
    const from = value >= 0 ? right : left + value;
    if (value >= 0) right += value;
    else left += value;
    return svg("rect", { class: `term-${index % 4}${value < 0 ? " minus" : ""}`, x: x(from), y: 2, width: Math.max((100 * Math.abs(value)) / width, value ? 0.4 : 0), height: 10 });
  });
  const words = `${numberText(reward.total)} = ${parts.map((term) => `${term.name} ${numberText(term.contribution)}`).join(" + ")}`;
  const bar = svg("svg.reward-bar", { viewBox: "0 0 100 14", preserveAspectRatio: "none", role: "img", "aria-label": words },
    svg("rect.track", { x: 0, y: 2, width: 100, height: 10 }), ...bars, svg("rect.total", { x: Math.min(x(reward.total ?? 0), 99.4) - 0.3, y: 0, width: 0.9, height: 14 }));
  return h("section.reward.card", h("h2", `Reward ${numberText(reward.total)}`), bar,
    table("parts of the reward", ["Part", ...["Value", "Weight", "In the total"].map(numberHead)],
      reward.terms.map((term, index) => [[key(`term-${index % 4}`), term.name, term.note && h("span.small.block", term.note)], ...[term.value, term.weight, term.contribution].map((value) => numbers(numberText(value)))])),
    reward.notes.length > 0 && h("dl.notes", reward.notes.map(([name, value]) => [h("dt", name), h("dd", value)])));
}

/** Prefill, decoding and tools of each turn, one after the other. @param {import("./types").Turn[]} turns */
export function waterfall(turns) {
  const kinds = ["prefill", "decode", "tools"];
  const timed = turns.filter((turn) => turn.seconds);
  if (!timed.length) return null;
  let clock = 0;
  const rows = timed.map((turn) => {
    const seconds = turn.seconds ?? {};
    let at = seconds.start ?? clock;
    const bars = kinds.map((kind) => {
      const from = at;
      at += seconds[kind] ?? 0;
      return { kind, from, seconds: seconds[kind] ?? 0 };
    });
    clock = at;
    return { turn: turn.n, bars };
  });
  const total = clock || 1;
  return h("section.card.waterfall", h("h2", `Time ${numberText(clock)} s`),
    table("time of turns", ["Turn", h("th.wide", { scope: "col" }, "From begin to end"), ...kinds.map((kind) => numberHead([key(kind), readable(kind)]))],
      rows.map((row) => [row.turn,
        svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect.track", { width: 100, height: 10 }), ...row.bars.map((bar) => svg("rect", { class: bar.kind, x: (100 * bar.from) / total, y: 1, width: Math.max((100 * bar.seconds) / total, bar.seconds ? 0.3 : 0), height: 8 }))),
        ...row.bars.map((bar) => numbers(`${numberText(bar.seconds)} s`))])));
}

/** The head of a column of numbers. @param {import("./dom.js").Children} words */
function numberHead(words) {
  return h("th.numbers", { scope: "col" }, words);
}

/** What a color of a bar means. @param {string} name */
function key(name) {
  return svg("svg.key", { viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { class: name, width: 10, height: 10 }));
}
