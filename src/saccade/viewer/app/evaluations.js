// @ts-check
/** Two evaluations of the same questions: four fields, the exact test, and every question that flipped. */

import { api } from "./api.js";
import { choice, h, numbers, numberText, percentText, readable, table, valueOf } from "./dom.js";

const FIELDS = { rr: "✓ ✓ right in both", wr: "✗ ✓ wrong, then right", rw: "✓ ✗ right, then wrong", ww: "✗ ✗ wrong in both" };

/** @param {URLSearchParams} query */
export async function evaluationsPage(query) {
  const names = await api("/api/runs");
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const chooser = await evaluationChooser(names.runs, a, b);
  const page = h("div.page", h("h1", "Two evaluations"), chooser);
  if (!a || !b) return page;
  const answer = await api(`/api/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
  const { rr, rw, wr, ww } = answer.fields;
  page.append(h("div.four-fields", Object.entries(FIELDS).map(([key, words]) => h("div", { class: `field ${key}` }, h("b.big", String(answer.fields[key])), h("span", words)))),
    h("p", `${rr + rw + wr + ww} questions are in both; ${wr} were gained and ${rw} lost, `, h("b", `exact McNemar p ${numberText(answer.p_exact)}`), answer.difference ? `, difference ${percentText(answer.difference.mean)} (95 % ${percentText(answer.difference.low)} to ${percentText(answer.difference.high)})` : "", "."),
    h("h2", "By family"), table("by family", ["Family", ...Object.values(FIELDS), "p"],
      answer.families.map((/** @type {any} */ family) => [readable(family.name ?? family.family), ...["rr", "wr", "rw", "ww", "p"].map((key) => numbers(numberText(family[key])))])),
    h("h2", "Questions that flipped"), flips(answer));
  return page;
}

/** @param {any} answer */
function flips(answer) {
  if (!answer.flips.length) return h("p.small", "None.");
  const open = (/** @type {any} */ side, /** @type {string} */ words) => h("a", { class: side.right ? "right" : "wrong", href: `#/run/${side.run}/t/${side.id}` }, `${words} ${side.right ? "✓" : "✗"} ${side.answer ?? "no answer"}`);
  return h("ul.flips", answer.flips.map((/** @type {any} */ flip) => h("li", h("span.row-question", flip.question), h("span.small", readable(flip.family)), open(flip.a, "before"), open(flip.b, "after"))));
}

/** @param {import("./types").Run[]} runs @param {string} a @param {string} b */
async function evaluationChooser(runs, a, b) {
  const all = await Promise.all(runs.slice(0, 40).map((run) => api(`/api/runs/${run.id}`).catch(() => null)));
  const options = all.flatMap((run) => (run?.evaluations ?? []).map((/** @type {any} */ one) => [`${run.id}/${one.name}`, `${run.name}: ${readable(one.name)}`]));
  const pick = (/** @type {string} */ label, /** @type {string} */ chosen) => choice({ "aria-label": label }, Object.fromEntries(options), chosen);
  const [first, second] = [pick("before", a), pick("after", b)];
  const go = () => {
    location.hash = `#/evaluations?${new URLSearchParams({ a: valueOf(first), b: valueOf(second) })}`;
  };
  return h("p.row", h("label", "before ", first), h("label", "after ", second), h("button", { type: "button", onclick: go }, "Compare"));
}
