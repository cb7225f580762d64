// @ts-check
/** Marks of readers: a verdict, a gold answer, a reward or a judge called wrong, the right box, and why. */

import { api, carried, send } from "./api.js";
import { announce, choice, h, numberText, percentText, readable, table, tried, valueOf } from "./dom.js";

/** @typedef {import("./types").Annotation} Annotation */

const SUBJECTS = { verdict: "its verdict", gold: "the gold answer", reward: "its reward", judge: "its judge", box: "the right box", note: "a note" };
const NAME_KEY = "saccade-reader";

/** @param {import("./types").Scene} scene @param {() => void} draw */
export function annotationForm(scene, draw) {
  /** @type {{ image: string, x1: number, y1: number, x2: number, y2: number } | null} */
  let box = null;
  const items = h("ul.annotations");
  const said = h("p.small", { role: "status" });
  const boxWords = h("span.small", "no box drawn");
  const subject = choice({ name: "subject" }, SUBJECTS);
  const verdict = choice({ name: "verdict" }, { wrong: "is wrong", right: "is right", unclear: "is unclear" });
  const value = field("value", "");
  const text = h("textarea", { name: "text", rows: 2, maxlength: 4000 });
  const name = field("name", remembered());
  const form = h("form.annotate", { onsubmit: submit },
    h("label", "I say that ", subject), h("label", "this ", verdict), h("label", "what is right ", value),
    h("p.row", h("button", { type: "button", onclick: draw }, "Draw the right box"), boxWords), fourNumbers(),
    h("label", "why ", text), h("label", "your name ", name), h("button", { type: "submit", class: "primary" }, "Mark"), said);
  const element = h("section.card", h("h2", "Marks of readers"), items, h("details", h("summary", "Mark something"), form));
  listItems(scene.annotations ?? []);

  /** The same box by keyboard. */
  function fourNumbers() {
    const sides = ["left", "top", "right", "bottom"].map((side) => h("input", { type: "number", "aria-label": `${side} of the box, in pixels`, placeholder: side, min: 0, onchange: taken }));
    function taken() {
      const numbers = sides.map((side) => Number(valueOf(side)));
      if (numbers[2] > numbers[0] && numbers[3] > numbers[1]) drawn(numbers, scene.pictures[0]);
    }
    return h("p.row.four", sides);
  }

  /** @param {number[]} sides @param {import("./types").Picture} picture */
  function drawn(sides, picture) {
    if (!picture) return;
    box = { image: picture.hash, x1: sides[0], y1: sides[1], x2: sides[2], y2: sides[3] };
    boxWords.textContent = `box ${sides.map(numberText).join(", ")} in pixels of ${picture.caption}`;
    /** @type {HTMLSelectElement} */ (subject).value = "box";
    element.querySelector("details")?.setAttribute("open", "");
    announce(boxWords.textContent);
  }

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const who = valueOf(name).trim();
    remember(who);
    await marked(() => send(`/api/runs/${scene.run}/annotations`, { trajectory: scene.id, subject: valueOf(subject), verdict: valueOf(verdict),
        value: valueOf(value) || null, box, text: valueOf(text), name: who }), "Marked.");
  }

  /** The mark leaves the page; the file keeps it, with who took it back. @param {Annotation} one */
  function takeBack(one) {
    return marked(() => send(`/api/runs/${scene.run}/annotations/${one.id}/retract`, { name: valueOf(name).trim() }), "Taken back.");
  }

  /** @param {() => Promise<any>} act @param {string} words */
  async function marked(act, words) {
    await tried(said, async () => {
      await act();
      listItems((await api(`/api/runs/${scene.run}/annotations?trajectory=${scene.id}`)).items);
      said.textContent = words;
    });
    announce(said.textContent ?? "");
  }

  /** @param {Annotation[]} all */
  function listItems(all) {
    items.replaceChildren(...all.map((one) => annotationItem(one, h("button", { type: "button", onclick: () => takeBack(one) }, "Take back"))));
  }

  return { element, drawn };
}

/** @param {Annotation} one @param {import("./dom.js").Child} [act] */
function annotationItem(one, act) {
  const what = SUBJECTS[/** @type {keyof typeof SUBJECTS} */ (one.subject)] ?? one.subject;
  return h("li", { class: one.is_retracted ? "retracted" : "" }, h("b", what, one.verdict && one.subject !== "box" ? ` is ${one.verdict}` : ""), one.value && `: ${one.value}`,
    one.box && ` at ${[one.box.x1, one.box.y1, one.box.x2, one.box.y2].map(numberText).join(", ")}`, one.text && h("span.block", one.text), h("span.small", ` ${one.name}, ${one.time}`), act);
}

/** @param {string} name @param {string} value */
function field(name, value) {
  return h("input", { name, type: "text", value, maxlength: 400 });
}

function remembered() {
  try {
    return localStorage.getItem(NAME_KEY) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name */
function remember(name) {
  try {
    localStorage.setItem(NAME_KEY, name);
  } catch {
    // A browser that keeps nothing asks for the name again.
  }
}

/** All marks of a run: counts, agreement with rules and judges, files to take along. @param {string} run */
export async function annotationsPage(run) {
  const answer = await api(`/api/runs/${run}/annotations`);
  const formats = { jsonl: "JSONL", csv: "CSV", coco: "COCO", "label-studio": "Label Studio tasks", imitate: "examples to imitate" };
  return h("div.page", h("h1", "Marks of readers"),
    answer.items.length === 0 && h("p", "Nobody has marked anything in this run. Open a trajectory and mark what is wrong at its end."),
    h("p.row", Object.entries(answer.counts ?? {}).map(([name, count]) => h("span.chip", `${SUBJECTS[/** @type {keyof typeof SUBJECTS} */ (name)] ?? name}: ${count}`))),
    answer.kappa?.length > 0 && [h("h2", "Agreement of readers with rules and judges"), table("agreement", ["With", "Agree", "Cohen’s kappa", "Marks"],
      answer.kappa.map((/** @type {any} */ one) => [readable(one.against), percentText(one.agree), numberText(one.kappa), one.n]))],
    !carried && answer.items.length > 0 && h("p.row", "Take along as ", Object.entries(formats).map(([format, words]) => h("a.chip", { href: `/api/runs/${run}/annotations/export?format=${format}` }, words))),
    h("ul.annotations", answer.items.map((/** @type {Annotation} */ one) => {
      const item = annotationItem(one);
      item.prepend(h("a", { href: `#/run/${run}/t/${one.trajectory}` }, "open"), " ");
      return item;
    })));
}
