// @ts-check
/** Chat: your own picture and question; tokens stream, calls and crops appear, several samples beside each other. */

import { api, imageUrl, send } from "./api.js";
import { announce, choice, counted, h, onLeave, shown, tried, valueOf } from "./dom.js";
import { sceneView } from "./trajectory.js";

/** @returns {Promise<HTMLElement>} */
export async function chatPage() {
  const about = await api("/api/chat");
  if (!about.model) return h("div.page", h("h1", "Chat"), h("p", "This viewer has no model. Start one with ", h("code", "saccade chat CHECKPOINT"), "."));
  /** @type {string | null} */
  let picture = null;
  /** @type {Map<string, EventSource>} */
  const running = new Map();
  const preview = h("p.chat-picture", "Drop, paste or choose a picture; or ask without one.");
  const file = h("input", { type: "file", accept: "image/png,image/jpeg,image/webp", "aria-label": "Picture", onchange: () => void take(/** @type {HTMLInputElement} */ (file).files?.[0]) });
  const question = h("textarea", { name: "question", rows: 3, required: true, maxlength: 20000 });
  const tools = h("fieldset.row");
  const protocol = choice({}, Object.fromEntries(about.protocols.map((/** @type {any} */ one) => [one.name, one.name])), about.protocol, offerTools);
  const [samples, temperature] = [numberField("samples", about.defaults.samples, 1, about.most_samples, 1), numberField("temperature", about.defaults.temperature, 0, 2, 0.1)];
  const stop = h("button", { type: "button", disabled: true, onclick: stopAll }, "Stop");
  const said = h("p.small", { role: "status" });
  const lanes = h("div.lanes");
  const drop = h("section.card.drop", { "aria-label": "Picture", ondragover: (/** @type {Event} */ event) => event.preventDefault(), ondrop: dropped }, preview,
    h("p.row", about.pictures.map((/** @type {any} */ one) => h("button.thumb", { type: "button", "aria-label": "take this picture", onclick: () => use(one) }, h("img", { src: imageUrl(about.run, one.hash, 64), alt: "" }))), file));
  const pasted = (/** @type {ClipboardEvent} */ event) => void take(event.clipboardData?.files[0]);
  document.addEventListener("paste", pasted);
  onLeave(() => { document.removeEventListener("paste", pasted); close(); });

  /** @param {DragEvent} event */
  function dropped(event) {
    event.preventDefault();
    void take(event.dataTransfer?.files[0]);
  }

  /** @param {string} name */
  function offerTools(name) {
    const offered = about.protocols.find((/** @type {any} */ one) => one.name === name).tools;
    tools.replaceChildren(h("legend", "Tools"), ...offered.map((/** @type {string} */ tool) => h("label.facet", h("input", { type: "checkbox", value: tool, checked: true }), tool)));
    tools.hidden = !offered.length;
  }

  /** @param {File | undefined} chosen */
  async function take(chosen) {
    if (chosen) await tried(said, async () => use((await send("/api/chat/pictures", chosen)).image));
  }

  /** @param {{ hash: string, width: number, height: number }} image */
  function use(image) {
    picture = image.hash;
    preview.replaceChildren(h("img", { src: imageUrl(about.run, image.hash, 512), alt: `your picture, ${image.width} × ${image.height} pixels` }), " ",
      h("button", { type: "button", onclick: () => { picture = null; preview.replaceChildren("No picture."); } }, "Without it"));
    announce("Picture taken.");
  }

  /** @param {{ id: string, turn: number, text: string } | null} from */
  function ask(from) {
    return tried(said, async () => {
      const chosen = [...tools.querySelectorAll("input")].filter((one) => one.checked).map((one) => one.value);
      const answer = await send("/api/chat", { image: picture, question: valueOf(question), protocol: valueOf(protocol), tools: chosen, samples: numberIn(samples), temperature: numberIn(temperature), seed: null, from });
      follow(answer.ids);
    });
  }

  /** @param {string[]} ids */
  function follow(ids) {
    close();
    lanes.replaceChildren(...ids.map(lane));
    told();
  }

  /** @param {string} id @param {number} index */
  function lane(id, index) {
    let text = "";
    const live = h("pre.said.live", { "aria-label": `sample ${index + 1}, as it comes` });
    const scene = h("div");
    const foot = h("p.small");
    const source = new EventSource(`/api/chat/${id}/events`);
    running.set(id, source);
    const on = (/** @type {string} */ name, /** @type {(data: any) => void} */ act) => source.addEventListener(name, (event) => act(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    const draw = (/** @type {any} */ data, /** @type {boolean} */ isOver) => {
      text = "";
      live.replaceChildren();
      live.hidden = isOver;
      scene.replaceChildren(sceneView(data.scene, { isWhole: false }), isOver ? again(id, data.scene) : "");
    };
    on("token", (data) => {
      if (data.at < text.length) live.replaceChildren(shown(text.slice(0, data.at)));
      text = text.slice(0, data.at) + data.text;
      live.append(shown(data.text));
    });
    on("turn", (data) => draw(data, false));
    for (const end of ["done", "failed"]) on(end, (data) => {
      draw(data, true);
      foot.replaceChildren(shown(data.why));
      running.delete(id);
      told();
    });
    on("kept", (data) => {
      source.close();
      foot.append(" ", data.id ? h("a", { href: `#/run/${data.run}/t/${data.id}` }, "its record") : `It could not be kept: ${data.why}`);
    });
    return h("article.card", h("h2", `Sample ${index + 1}`), live, scene, foot);
  }

  /** Edit a turn and sample what follows. @param {string} id @param {import("./types").Scene} scene */
  function again(id, scene) {
    return h("details", h("summary", "Edit a turn and go on from there"), scene.turns.map((turn) => {
      const text = h("textarea", { rows: 3, "aria-label": `Turn ${turn.n}` });
      /** @type {HTMLTextAreaElement} */ (text).value = turn.text;
      return h("p", text, h("button", { type: "button", onclick: () => void ask({ id, turn: turn.n, text: valueOf(text) }) }, `Go on after turn ${turn.n}`));
    }));
  }

  function told() {
    stop.toggleAttribute("disabled", !running.size);
    said.textContent = running.size ? `${counted(running.size, "sample")} on the way.` : "Done.";
  }

  function stopAll() {
    for (const id of running.keys()) void send(`/api/chat/${id}/stop`, {}).catch(() => null);
  }

  function close() {
    for (const source of running.values()) source.close();
    running.clear();
  }

  const form = h("form.chat", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); void ask(null); } }, drop, h("label", "Question", question),
    h("p.row", h("label", "protocol ", protocol), samples, temperature, h("button.primary", { type: "submit" }, "Ask"), stop), tools, said);
  offerTools(about.protocol);
  if (about.last) {
    question.textContent = about.last.question;
    if (about.last.image) use(about.last.image);
    follow(about.last.ids);
  }
  return h("div.page", h("h1", `Chat with ${about.model}`), form, lanes);
}

/** @param {string} name @param {number} value @param {number} min @param {number} max @param {number} step */
function numberField(name, value, min, max, step) {
  return h("label", `${name} `, h("input", { type: "number", value, min, max, step, name }));
}

/** @param {HTMLElement} label */
function numberIn(label) {
  return Number(label.querySelector("input")?.value);
}
