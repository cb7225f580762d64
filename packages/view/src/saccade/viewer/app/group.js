// @ts-check
/** A group: everybody who answered the question at that step, their rewards, boxes and words beside each other. */

import { api, runLink } from "./api.js";
import { wordDiff } from "./diff.js";
import { built, counted, h, numbers, numberText, readable, shown, svg, table, valueOf, VERDICT_WORDS } from "./dom.js";
import { linked } from "./link.js";
import { pictureView } from "./picture.js";
import { sceneOf, sceneView } from "./trajectory.js";

/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Row} Row */

const MAX_SCENES = 32;

/** @param {string} run @param {string} id @param {URLSearchParams} query */
export async function groupPage(run, id, query) {
  const group = await api(`/api/runs/${run}/groups/${id}`);
  const found = await Promise.all(group.rows.slice(0, MAX_SCENES).map((/** @type {Row} */ row) => sceneOf(run, row.id).catch(() => null)));
  /** @type {Scene[]} */
  const scenes = found.filter((scene) => scene !== null);
  const first = scenes[0];
  const page = h("div.page.group");
  if (!first) {
    page.append(h("h1", "Group"), h("p", "No trajectory of this group can be read."));
    return page;
  }
  page.append(h("nav.crumbs", { "aria-label": "Breadcrumb" }, runLink(run, first.run_name ?? "run"), h("a", { href: `#/run/${run}/t/${id}` }, "trajectory"), h("span.small", `${readable(first.stage)}, step ${first.step} · ${first.task.id}`)),
    h("h1.question", first.task.text), h("p", "expected ", h("b", first.task.answer)), groupSummary(group.rows), everybody(run, scenes, group.rows),
    ...[streams(scenes, group), compareTwo(scenes, query.get("other")), built(group.drawn?.across)].filter(Boolean));
  return page;
}

/** @param {Row[]} rows */
function groupSummary(rows) {
  const rewards = rows.map((row) => row.reward).filter((reward) => reward !== null);
  const meanOf = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
  const mean = meanOf(rewards);
  const spread = Math.sqrt(meanOf(rewards.map((value) => (value - mean) ** 2)));
  return h("p", `${rows.filter((row) => row.right).length} of ${counted(rows.length, "trajectory", "trajectories")} right; mean reward ${numberText(mean)}, standard deviation ${numberText(spread < 1e-9 ? 0 : spread)}`, spread < 1e-9 && rows.length > 1 ? ": all are equal, so every advantage is 0." : ".");
}

/** All boxes on one picture; a row for each trajectory. @param {string} run @param {Scene[]} scenes @param {Row[]} rows */
function everybody(run, scenes, rows) {
  const root = h("div.scene");
  const link = linked(root);
  const pictures = scenes[0].pictures.filter((picture) => picture.key.startsWith("q"));
  const regions = merged(scenes);
  // What the terms can add up to, not what this group has: eight rewards of 0.1 are short bars.
  const whole = scenes.map((scene) => (scene.reward?.terms ?? []).reduce((sum, term) => sum + Math.max(term.weight, 0), 0));
  const most = Math.max(1, ...whole, ...rows.map((row) => Math.abs(row.reward ?? 0)));
  const line = (/** @type {Scene} */ scene, /** @type {number} */ index) => {
    const row = rows.find((one) => one.id === scene.id);
    const mine = regions.find((region) => region.kind !== "target" && region.mark.split(",").includes(`${index + 1}`));
    return h("tr", { "data-region": mine?.id }, h("th", { scope: "row" }, h("a", { href: `#/run/${run}/t/${scene.id}`, "data-region": mine?.id }, `${index + 1}`)), h("td", badge(scene), " ", scene.answer === null ? "no answer" : h("b", scene.answer), h("span.small.block", readable(scene.stream))),
      h("td", svg("svg.share", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect.track", { width: 100, height: 10 }), svg(`rect.interval${(row?.reward ?? 0) < 0 ? ".minus" : ""}`, { width: (100 * Math.abs(row?.reward ?? 0)) / most, height: 10 })), numberText(row?.reward)), numbers(numberText(row?.advantage)));
  };
  root.append(h("div.two", pictureView(run, pictures, regions, link).element, table("trajectories of the group", ["No.", "Answer", ["Reward ", h("span.small", `bar: 0 to ${numberText(most)}`)], "Advantage"], scenes.map(line))));
  return root;
}

/** Places of all of them; where several asked for the same one it is drawn once, with all their numbers. @param {Scene[]} scenes */
function merged(scenes) {
  /** @type {Map<string, import("./types").Region>} */
  const found = new Map();
  scenes.forEach((scene, index) => {
    for (const region of scene.regions.filter((one) => one.picture.startsWith("q"))) {
      const key = JSON.stringify([region.picture, region.kind, region.box, region.point]);
      const known = found.get(key);
      if (region.kind === "target") found.set(key, known ?? region);
      else if (known) found.set(key, { ...known, mark: `${known.mark},${index + 1}`, label: `${known.label}, ${index + 1}` });
      else found.set(key, { ...region, id: `all${found.size}`, mark: `${index + 1}`, label: `of trajectory ${index + 1}` });
    }
  });
  return [...found.values()];
}

/** The streams that asked it, beside each other. @param {Scene[]} scenes @param {any} group */
function streams(scenes, group) {
  const names = [...new Set(scenes.map((scene) => scene.stream))];
  if (names.length < 2) return null;
  return h("section", h("h2", "Streams side by side"), built(group.drawn?.reference),
    h("div.streams", names.map((name) => {
      const best = scenes.filter((scene) => scene.stream === name).sort((a, b) => (b.reward?.total ?? -1e9) - (a.reward?.total ?? -1e9))[0];
      return h("div", h("h3", readable(name)), h("p", badge(best)), best.turns.map((turn) => h("p.said", { dir: "auto" }, turn.text)), built(best.drawn.reward));
    })));
}

/** @param {Scene} scene */
function badge(scene) {
  return h("span", { class: `badge-line ${scene.verdict}` }, VERDICT_WORDS[scene.verdict]);
}

/** @param {Scene[]} scenes @param {string | null} other */
function compareTwo(scenes, other) {
  if (scenes.length < 2) return null;
  const result = h("div");
  const named = (/** @type {Scene} */ scene) => `${scenes.indexOf(scene) + 1}: ${VERDICT_WORDS[scene.verdict]} ${(scene.answer ?? "no answer").slice(0, 30)}`;
  const pick = (/** @type {string} */ label, /** @type {number} */ at) => h("select", { "aria-label": label, onchange: draw }, scenes.map((scene, index) => h("option", { value: index, selected: index === at }, named(scene))));
  const [a, b] = [pick("first trajectory", 0), pick("second trajectory", Math.max(scenes.findIndex((scene) => scene.id === other), 1))];
  function draw() {
    const [one, two] = [a, b].map((select) => scenes[Number(valueOf(select))]);
    result.replaceChildren(h("div.two-scenes", [one, two].map((scene) => h("details.card", h("summary", `${named(scene)}, in full`), sceneView(scene, { isWhole: false })))),
      h("p.said", { dir: "auto" }, wordDiff(textOf(one), textOf(two)).map((part) => (part.op === "same" ? shown(part.text) : h(part.op === "a" ? "del" : "ins", {}, part.text)))));
  }
  draw();
  return h("section", h("h2", "Two trajectories, word by word"), h("p.row", a, b, h("span.small", h("del", "only in the first"), " ", h("ins", "only in the second"))), result);
}

/** @param {Scene} scene */
function textOf(scene) {
  return scene.turns.map((turn) => turn.text).join("\n\n");
}
