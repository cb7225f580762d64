// @ts-check
/** Marks of readers: a verdict, a gold answer, a reward or a judge called wrong, the right box, and why. */

import { api, send } from "./api.js";
import { announce, built, cloned, h, numberText, tried } from "./dom.js";

/** @typedef {import("./types").Annotation} Annotation */

const NAME_KEY = "saccade-reader";

/** @param {import("./types").Scene} scene @param {() => void} draw */
export function annotationForm(scene, draw) {
  /** @type {{ image: string, x1: number, y1: number, x2: number, y2: number } | null} */
  let box = null;
  const element = cloned("mark-form");
  const form = /** @type {HTMLFormElement} */ (element.querySelector("form"));
  const fields = /** @type {Record<string, any>} */ (form.elements);
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (element.querySelector(name));
  const sides = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll(".four input")]);
  fields.name.value = kept((store) => store.getItem(NAME_KEY)) ?? "";
  fields.draw.addEventListener("click", draw);
  form.addEventListener("submit", submit);
  part(".four").addEventListener("change", () => {
    const [x1, y1, x2, y2] = sides.map((side) => Number(side.value));
    if (x2 > x1 && y2 > y1) drawn([x1, y1, x2, y2], scene.pictures[0]);
  });
  listItems(scene.annotations ?? []);

  /** @param {number[]} corners @param {import("./types").Picture} picture */
  function drawn(corners, picture) {
    if (!picture) return;
    const [x1, y1, x2, y2] = corners;
    box = { image: picture.hash, x1, y1, x2, y2 };
    const words = `box ${corners.map(numberText).join(", ")} in pixels of ${picture.caption}`;
    part(".box-words").textContent = words;
    fields.subject.value = "box";
    part("details").setAttribute("open", "");
    announce(words);
  }

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    const told = Object.fromEntries(new FormData(form));
    kept((store) => store.setItem(NAME_KEY, fields.name.value));
    void marked("", { ...told, trajectory: scene.id, value: told.value || null, box }, "Marked.");
  }

  /** @param {string} address @param {object} body @param {string} words */
  async function marked(address, body, words) {
    const said = part("[role=status]");
    const all = `/api/runs/${scene.run}/annotations`;
    await tried(said, async () => {
      await send(all + address, body);
      listItems((await api(`${all}?trajectory=${scene.id}`)).items);
      said.textContent = words;
      box = null;
      part(".box-words").textContent = "no box drawn";
      part("summary").focus();
    });
    announce(said.textContent ?? "");
  }

  /** A withdrawn mark leaves the page; the file keeps it, with who withdrew it. @param {Annotation[]} all */
  function listItems(all) {
    const withdraw = (/** @type {string} */ id) => marked(`/${id}/retract`, { name: fields.name.value }, "Withdrawn.");
    part(".annotations").replaceChildren(...all.map((one) => h("li", one.drawn.map(built), h("button", { type: "button", onclick: () => withdraw(one.id) }, "Withdraw"))));
  }

  return { element, drawn };
}

/** What the browser keeps; nothing in one that keeps nothing. @template T @param {(store: Storage) => T} act */
function kept(act) {
  try {
    return act(localStorage);
  } catch {
    return null;
  }
}
