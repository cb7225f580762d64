// @ts-check
/** Chat: your own picture and question; tokens stream, calls and crops appear, several samples beside each other. */

import { api, imageUrl, Refused, send } from "./api.js";
import { announce, counted, h, shown } from "./dom.js";
import { sceneView } from "./trajectory.js";

const MAX_SAMPLES = 8;
const MAX_PICTURE_BYTES = 32 << 20;

/** @returns {Promise<HTMLElement>} */
export async function chatPage() {
  const about = await api("/api/chat").catch((error) => error);
  if (about instanceof Refused) return h("div.page", h("h1", "Chat"), h("p", "This viewer has no model. Start one with ", h("code", "saccade chat CHECKPOINT"), "."));
  /** @type {{ hash: string, width: number, height: number } | null} */
  let picture = null;
  const preview = h("p.chat-picture", "Drop, paste or choose a picture.");
  const file = h("input", { type: "file", accept: "image/png,image/jpeg,image/webp", "aria-label": "Picture", onchange: () => void take(/** @type {HTMLInputElement} */ (file).files?.[0]) });
  const question = h("textarea", { name: "question", rows: 3, required: true, maxlength: 20000, "aria-label": "Question" });
  const protocol = h("select", { "aria-label": "Protocol" }, (about.protocols ?? []).map((/** @type {any} */ one) => h("option", { value: one.name ?? one, selected: (one.name ?? one) === about.protocol }, one.name ?? one)));
  const tools = (about.tools ?? []).map((/** @type {any} */ one) => h("label.facet", h("input", { type: "checkbox", value: one.name ?? one, checked: !about.chosen || about.chosen.includes(one.name ?? one) }), one.name ?? one));
  const samples = numberField("samples", 1, 1, MAX_SAMPLES, 1);
  const temperature = numberField("temperature", about.defaults?.temperature ?? 1, 0, 2, 0.1);
  const stop = h("button", { type: "button", disabled: true, onclick: () => void stopAll() }, "Stop");
  const said = h("p.small", { role: "status" });
  const lanes = h("div.lanes");
  /** @type {string[]} */
  let running = [];
  /** @type {EventSource[]} */
  let sources = [];
  const drop = h("section.card.drop", { "aria-label": "Picture" }, preview, file);
  drop.addEventListener("dragover", (event) => event.preventDefault());
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    void take(event.dataTransfer?.files[0]);
  });
  const pasted = (/** @type {ClipboardEvent} */ event) => void take([...(event.clipboardData?.files ?? [])][0]);
  document.addEventListener("paste", pasted);
  window.addEventListener("saccade:leave", () => { document.removeEventListener("paste", pasted); close(); }, { once: true });

  /** @param {File | undefined} chosen */
  async function take(chosen) {
    if (!chosen) return;
    if (!chosen.type.startsWith("image/") || chosen.size > MAX_PICTURE_BYTES) {
      said.textContent = "That is no picture of at most 32 MiB.";
      return;
    }
    try {
      const answer = await send("/api/chat/pictures", chosen);
      picture = answer.image ?? answer;
      const hash = picture?.hash ?? "";
      preview.replaceChildren(h("img", { src: imageUrl(about.run ?? "chat", hash, 512), alt: `your picture, ${picture?.width} × ${picture?.height} pixels` }));
      announce("Picture taken.");
    } catch (error) {
      said.textContent = String(/** @type {Error} */ (error).message);
    }
  }

  /** @param {{ id: string, turn: number, text: string } | null} from */
  async function ask(from) {
    close();
    const chosen = tools.filter((/** @type {HTMLElement} */ one) => one.querySelector("input")?.checked).map((/** @type {HTMLElement} */ one) => one.querySelector("input")?.value);
    const count = Number(/** @type {HTMLInputElement} */ (samples.querySelector("input")).value);
    try {
      const answer = await send("/api/chat", { image: picture?.hash ?? null, question: /** @type {HTMLTextAreaElement} */ (question).value, protocol: /** @type {HTMLSelectElement} */ (protocol).value, tools: chosen, samples: count,
        temperature: Number(/** @type {HTMLInputElement} */ (temperature.querySelector("input")).value), seed: null, from });
      running = answer.ids;
      stop.removeAttribute("disabled");
      lanes.replaceChildren(...running.map((id, index) => lane(id, index)));
      said.textContent = `${counted(running.length, "sample")} on the way.`;
    } catch (error) {
      said.textContent = String(/** @type {Error} */ (error).message);
    }
  }

  /** @param {string} id @param {number} index */
  function lane(id, index) {
    const live = h("pre.said.live", { "aria-label": `sample ${index + 1}, as it comes` });
    const scene = h("div");
    const source = new EventSource(`/api/chat/${id}/events`);
    sources.push(source);
    const on = (/** @type {string} */ name, /** @type {(data: any) => void} */ act) => source.addEventListener(name, (event) => act(JSON.parse(/** @type {MessageEvent} */ (event).data || "{}")));
    on("token", (data) => live.append(shown(data.text)));
    on("turn", (data) => { live.replaceChildren(); if (data.scene) scene.replaceChildren(sceneView(data.scene, { isWhole: false })); });
    on("done", (data) => {
      source.close();
      live.remove();
      if (data.scene) scene.replaceChildren(sceneView(data.scene, { isWhole: false }), again(id, data.scene));
      ended(id);
    });
    on("failed", (data) => { source.close(); live.replaceChildren(shown(data.why ?? data.message ?? "The model failed.")); ended(id); });
    return h("article.card", h("h2", `Sample ${index + 1}`), live, scene);
  }

  /** Edit a turn and sample what follows. @param {string} id @param {import("./types").Scene} scene */
  function again(id, scene) {
    return h("details", h("summary", "Edit a turn and go on from there"), scene.turns.map((turn) => {
      const text = h("textarea", { rows: 3, "aria-label": `Turn ${turn.n}` });
      /** @type {HTMLTextAreaElement} */ (text).value = turn.text;
      return h("p", text, h("button", { type: "button", onclick: () => void ask({ id, turn: turn.n, text: /** @type {HTMLTextAreaElement} */ (text).value }) }, `Go on after turn ${turn.n}`));
    }));
  }

  /** @param {string} id */
  function ended(id) {
    running = running.filter((one) => one !== id);
    if (!running.length) {
      stop.setAttribute("disabled", "");
      said.textContent = "Done.";
    }
  }

  async function stopAll() {
    await Promise.all(running.map((id) => send(`/api/chat/${id}/stop`, {}).catch(() => null)));
  }

  function close() {
    for (const source of sources) source.close();
    sources = [];
  }

  const form = h("form.chat", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); void ask(null); } }, drop, h("label", "Question", question),
    h("p.row", h("label", "protocol ", protocol), samples, temperature, h("button", { type: "submit", class: "primary" }, "Ask"), stop), tools.length > 0 && h("fieldset.row", h("legend", "Tools"), tools), said);
  return h("div.page", h("h1", `Chat with ${about.model ?? "the model"}`), form, lanes);
}

/** @param {string} name @param {number} value @param {number} min @param {number} max @param {number} step */
function numberField(name, value, min, max, step) {
  return h("label", `${name} `, h("input", { type: "number", value, min, max, step, name }));
}
