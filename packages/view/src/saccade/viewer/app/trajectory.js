// @ts-check
/** The page of one trajectory: what was asked, what it looked at, what it said, and why it was right or wrong. */

import { annotationForm } from "./annotate.js";
import { api, carried, runLink } from "./api.js";
import { announce, built, choice, counted, h, many, notesOf, numberText, readable, VERDICT_WORDS } from "./dom.js";
import { linked } from "./link.js";
import { pictureView } from "./picture.js";
import { HEAT_LEGENDS, heatsOf, turnList } from "./turns.js";

/** @typedef {import("./types").Scene} Scene */

/** @param {string} run @param {string} id */
export function sceneOf(run, id) {
  return api(`/api/runs/${run}/trajectories/${id}`);
}

/** @param {string} run @param {string} id @param {URLSearchParams} filter @returns {Promise<HTMLElement>} */
export async function trajectoryPage(run, id, filter) {
  const query = filter.toString();
  const [scene, near] = await Promise.all([sceneOf(run, id), api(`/api/runs/${run}/trajectories/${id}/neighbours?${query}`).catch(() => ({}))]);
  const page = h("div.page.trajectory");
  page.append(crumbs(scene, query), neighbours(scene, near, query), sceneView(scene, { isWhole: true }));
  announce(`${VERDICT_WORDS[/** @type {Scene} */ (scene).verdict]}${near.place ? `, trajectory ${near.place} of ${near.of}` : ""}`);
  return page;
}

/** Everything of a scene. @param {Scene} scene @param {{ isWhole: boolean }} options */
export function sceneView(scene, { isWhole }) {
  const root = h("div.scene");
  const whose = isWhole ? "" : `, ${scene.stream} ${scene.sample + 1}`;
  const link = linked(root);
  /** @type {ReturnType<typeof annotationForm> | null} */
  const form = isWhole && !carried ? annotationForm(scene, () => picture.draw()) : null;
  const picture = pictureView(scene.run, scene.pictures, scene.regions, link, (box, of) => form?.drawn(box, of), built(scene.drawn.places));
  picture.element.setAttribute("aria-label", `Pictures and locations${whose}`);
  const turns = h("div");
  const heats = heatsOf(scene);
  const meaning = h("span.small");
  const render = (/** @type {any} */ heat) => {
    turns.replaceChildren(turnList(scene, heat, picture.show));
    meaning.textContent = HEAT_LEGENDS[heat];
  };
  render("none");
  const chooser = heats.length > 0 && h("label.heat", "Heat on tokens ", choice({}, Object.fromEntries(["none", ...heats].map((heat) => [heat, heat])), "none", render), " ", meaning);
  root.append(built(scene.drawn.head), ...notesOf(scene.notes),
    h("div.two", picture.element, h("section.words", { "aria-label": `Turns${whose}` }, sentCard(scene), chooser, turns)),
    h("div.cards", (isWhole || scene.reward) && built(scene.drawn.reward), built(scene.drawn.time), form && form.element));
  return root;
}

/** @param {Scene} scene @param {string} query */
function crumbs(scene, query) {
  return h("nav.crumbs", { "aria-label": "Breadcrumb" },
    runLink(scene.run, scene.run_name ?? "run"), h("a", { href: `#/run/${scene.run}/list${query && `?${query}`}` }, "trajectories"),
    h("span.small", `${readable(scene.stage)}, step ${scene.step} · ${readable(scene.task.family)} · stream ${readable(scene.stream)} · sample ${scene.sample} · ${scene.task.id}`));
}

/** @param {Scene} scene @param {any} near @param {string} query */
function neighbours(scene, near, query) {
  const go = (/** @type {string} */ name, /** @type {string} */ words, /** @type {string} */ key) => {
    const id = near[name];
    return id ? h("a.step", { href: `#/run/${scene.run}/t/${id}${query && `?${query}`}`, "data-key": key, "aria-keyshortcuts": key }, words, h("kbd", { "aria-hidden": "true" }, key)) : h("span.step.none", words);
  };
  return h("nav.steps", { "aria-label": "Other trajectories" }, go("previous", "previous", "p"), go("next", "next", "n"), go("next_wrong", "next wrong", "w"), go("next_in_group", "next in group", "g"),
    h("a.step", { href: `#/run/${scene.run}/group/${scene.id}`, "data-key": "a", "aria-keyshortcuts": "a" }, "whole group", h("kbd", { "aria-hidden": "true" }, "a")),
    near.of > 0 && near.place > 0 && h("span.small", `${many(near.place)} of ${counted(near.of, "trajectory", "trajectories")}`),
    scene.reward && h("span.small", `reward ${numberText(scene.reward.total)}`));
}

/** What the policy was sent, with the template's own words. @param {Scene} scene */
function sentCard(scene) {
  if (!scene.sent.length) return null;
  const heading = (/** @type {import("./types").Sent} */ one) => h("h3", one.is_prompt ? (one.turn > 1 ? `Prompt before turn ${one.turn}` : "Prompt") : `After turn ${one.turn}`, h("span.small", ` ${counted(one.tokens, "token")}`));
  return h("details.sent", h("summary", `Sent to the model, ${counted(scene.sent.reduce((sum, one) => sum + one.tokens, 0), "token")}`),
    scene.sent.map((one) => h("section", heading(one), h("pre", one.text), one.left_out > 0 && h("p.small", `${many(one.left_out)} more characters are in the record.`))));
}
