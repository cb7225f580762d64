// @ts-check
/** Turns as they were: thought, call, code and result, each mention linked with its place, tokens with their numbers. */

import { codePieces } from "./code.js";
import { h, many, numberText, shown } from "./dom.js";
import { stripItem } from "./picture.js";

/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Turn} Turn */
/** @typedef {"none" | "probability" | "entropy" | "advantage" | "ratio" | "teacher"} Heat */

const FOLDED_FROM = 400;
/** @type {Record<string, string>} */
const PHASES = { prefill: "queue and prefill", decode: "decoding", tools: "environment" };
const HEATS = /** @type {Heat[]} */ (["probability", "entropy", "advantage", "ratio", "teacher"]);

/** What a tint means. @type {Record<string, string>} */
export const HEAT_LEGENDS = {
  none: "", probability: "the stronger, the less probable the token was: none at 100 %, full at 0 %",
  entropy: "the stronger, the less sure the policy was: none at 0, full from 2.5 nats on",
  advantage: "made more likely where blue, less where orange; full from 2 on",
  ratio: "more likely than under the reference where blue, less where orange; full from a factor of 7 on",
  teacher: "the teacher finds it more likely than the policy where blue, less where orange; full from a factor of 7 on",
};

/** Kinds of heat that some turn has numbers for. @param {Scene} scene @returns {Heat[]} */
export function heatsOf(scene) {
  return HEATS.filter((heat) => scene.turns.some((turn) => turn.tokens && numbersOf(turn, heat).some((value) => value !== null)));
}

/** @param {Scene} scene @param {Heat} heat @param {(key: string) => void} showPicture */
export function turnList(scene, heat, showPicture) {
  return h("ol.turns", scene.turns.map((turn) => turnItem(scene, turn, heat, showPicture)),
    scene.turns_left_out > 0 && h("li.small", `${scene.turns_left_out} more turns are in the record.`));
}

/** @param {Scene} scene @param {Turn} turn @param {Heat} heat @param {(key: string) => void} showPicture */
function turnItem(scene, turn, heat, showPicture) {
  const readout = h("output.small.token-readout");
  const seconds = turn.seconds ? Object.entries(turn.seconds).filter(([name, value]) => name !== "start" && value !== null).map(([name, value]) => `${PHASES[name]} ${numberText(value)} s`).join(", ") : "";
  return h("li.turn", { id: `turn-${turn.n}` },
    h("p.turn-head", h("b", `Turn ${turn.n}`), h("span", { class: turn.is_fine ? "outcome" : "outcome bad" }, `${turn.is_fine ? "✓" : "✗"} ${turn.outcome}`),
      turn.advantage !== null && h("span.small", `advantage ${numberText(turn.advantage)}`), seconds && h("span.small", seconds)),
    said(turn, heat, readout), heat !== "none" && readout,
    rest(turn.left_out),
    turn.code && h("pre.code", highlighted(turn.code)),
    turn.call && h("p.small.ran", turn.was_run ? "executed in pixels as " : "arguments of the call ", h("code", turn.call)),
    observation(scene, turn, showPicture));
}

/** @param {number} count */
function rest(count) {
  return count > 0 && h("p.small", `${many(count)} more characters are in the record.`);
}

/** @param {Scene} scene @param {Turn} turn @param {(key: string) => void} showPicture */
function observation(scene, turn, showPicture) {
  if (!turn.observation && !turn.pictures.length) return null;
  const pictures = scene.pictures.filter((one) => turn.pictures.includes(one.key));
  const text = turn.observation && h("div.seen-text", { dir: "auto" }, turn.observation);
  const isLong = turn.observation.length > FOLDED_FROM;
  return h("div.observation", h("p.small.seen-head", "The model then saw"),
    pictures.length > 0 && h("ul.strip", pictures.map((one) => stripItem(scene.run, one, () => showPicture(one.key)))),
    isLong ? h("details", h("summary", shown(`${turn.observation.slice(0, 120)} … (${many(turn.observation.length)} characters)`)), text) : text,
    rest(turn.observation_left_out));
}

/** The turn's own text. @param {Turn} turn @param {Heat} heat @param {HTMLElement} readout */
function said(turn, heat, readout) {
  const slices = (heat !== "none" && turn.tokens?.ends) || [];
  const all = h("div.said", { dir: "auto" });
  for (const part of turn.parts) {
    const place = h("span", { class: `part ${part.kind}` });
    const pieces = part.kind === "code" ? codePieces(turn.text.slice(part.start, part.end), part.start) : [];
    let at = part.start;
    for (const span of turn.spans.filter((one) => one.start >= part.start && one.end <= part.end)) {
      place.append(...leaves(turn, at, span.start, slices, pieces, heat));
      place.append(h("span.mention", { "data-region": span.region, tabindex: 0, role: "button" }, leaves(turn, span.start, span.end, slices, pieces, heat)));
      at = span.end;
    }
    place.append(...leaves(turn, at, part.end, slices, pieces, heat));
    all.append(place);
  }
  if (heat !== "none" && slices.length) readableTokens(all, turn, readout);
  else if (heat !== "none" && turn.tokens) all.append(tokenStrip(turn, heat));
  return all;
}

/** @param {Turn} turn @param {number} start @param {number} end @param {number[]} ends @param {{ start: number, end: number, name: string }[]} pieces @param {Heat} heat @returns {Node[]} */
function leaves(turn, start, end, ends, pieces, heat) {
  const borders = new Set([start, end]);
  for (const at of ends) if (at > start && at < end) borders.add(at);
  for (const piece of pieces) for (const at of [piece.start, piece.end]) if (at > start && at < end) borders.add(at);
  const sorted = [...borders].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((from, index) => {
    const text = shown(turn.text.slice(from, sorted[index + 1]));
    const name = pieces.find((one) => one.start <= from && from < one.end)?.name;
    const token = ends.length ? firstAfter(ends, from) : -1;
    if (!name && token < 0) return text;
    const leaf = h("span", { class: name ?? "", "data-token": token < 0 ? null : token }, text);
    if (token >= 0) warm(leaf, numbersOf(turn, heat)[token] ?? null, heat);
    return leaf;
  });
}

/** @param {number[]} ends @param {number} place the first token that ends after it */
function firstAfter(ends, place) {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > place) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @param {Turn} turn @param {Heat} heat @returns {(number | null)[]} */
function numbersOf(turn, heat) {
  if (heat === "none" || !turn.tokens) return [];
  if (heat === "advantage" && !turn.tokens.advantage.length && turn.advantage !== null) return turn.tokens.probability.map(() => turn.advantage);
  return turn.tokens[heat];
}

/** How strongly a number is shown, from 0 to 1, and whether it is on the low side. @param {number} value @param {Heat} heat */
function warmth(value, heat) {
  if (heat === "probability") return { strength: 1 - value, isLow: true };
  if (heat === "entropy") return { strength: Math.min(value / 2.5, 1), isLow: true };
  const size = heat === "ratio" || heat === "teacher" ? Math.log(Math.max(value, 1e-9)) : value;
  return { strength: Math.min(Math.abs(size) / 2, 1), isLow: size < 0 };
}

/** @param {HTMLElement} leaf @param {number | null} value @param {Heat} heat */
function warm(leaf, value, heat) {
  if (value === null) return;
  const { strength, isLow } = warmth(value, heat);
  leaf.classList.add("token", isLow ? "low" : "high");
  leaf.style.setProperty("--heat", strength.toFixed(2));
}

/** Tokens tell their numbers to pointer, touch and keys. @param {HTMLElement} block @param {Turn} turn @param {HTMLElement} readout */
function readableTokens(block, turn, readout) {
  let at = -1;
  const tell = (/** @type {number} */ token) => {
    if (token < 0 || !turn.tokens || token >= turn.tokens.probability.length) return;
    at = token;
    for (const one of block.querySelectorAll(".told")) one.classList.remove("told");
    for (const one of block.querySelectorAll(`[data-token="${token}"]`)) one.classList.add("told");
    const from = turn.tokens.ends?.[token - 1] ?? 0;
    readout.replaceChildren(shown(tokenWords(turn, token, turn.text.slice(from, turn.tokens.ends?.[token] ?? from))));
  };
  block.tabIndex = 0;
  block.setAttribute("role", "group");
  block.setAttribute("aria-label", `Tokens of turn ${turn.n}; arrows go from one to the next`);
  const pointed = (/** @type {Event} */ event) => tell(Number((event.target instanceof Element && event.target.closest("[data-token]")?.getAttribute("data-token")) || -1));
  block.addEventListener("pointerover", pointed);
  block.addEventListener("click", pointed);
  block.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    tell(Math.max(at + (event.key === "ArrowRight" ? 1 : -1), 0));
  });
}

/** @param {Turn} turn @param {number} token @param {string} text */
function tokenWords(turn, token, text) {
  const numbers = HEATS.map((heat) => ({ heat, value: numbersOf(turn, heat)[token] })).filter((one) => one.value !== null && one.value !== undefined);
  return `token ${token + 1} “${text}”: ${numbers.map((one) => `${one.heat} ${one.heat === "probability" ? `${numberText(100 * one.value)} %` : numberText(one.value)}`).join(", ")}`;
}

/** Numbers where texts of tokens are not known. @param {Turn} turn @param {Heat} heat */
function tokenStrip(turn, heat) {
  const values = numbersOf(turn, heat);
  return h("span.small", `${values.length} tokens, their texts are not known. `, values.slice(0, 400).map((value) => {
    const leaf = h("span.block-token", { title: numberText(value) }, " ");
    warm(leaf, value, heat);
    return leaf;
  }));
}

/** @param {string} code */
function highlighted(code) {
  const pieces = codePieces(code);
  const all = document.createDocumentFragment();
  let at = 0;
  for (const piece of pieces) {
    all.append(shown(code.slice(at, piece.start)), h("span", { class: piece.name }, code.slice(piece.start, piece.end)));
    at = piece.end;
  }
  all.append(shown(code.slice(at)));
  return all;
}
