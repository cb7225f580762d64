// @ts-check
/** Chat: your own picture and question; tokens stream, calls and crops appear, several samples beside each other. */

import { api, imageUrl, send } from "./api.js";
import { announce, choice, cloned, counted, h, onLeave, shown, tried, valueOf } from "./dom.js";
import { sceneView } from "./trajectory.js";

/** @returns {Promise<HTMLElement>} */
export async function chatPage() {
  const about = await api("/api/chat");
  if (!about.model) return h("div.page", h("h1", "Chat"), h("p", "This viewer has no model. Start one with ", h("code", "saccade chat CHECKPOINT"), "."));
  /** @type {string | null} */
  let picture = null;
  /** @type {Map<string, EventSource>} */
  const running = new Map();
  const form = /** @type {HTMLFormElement} */ (cloned("chat-form"));
  const fields = /** @type {Record<string, any>} */ (form.elements);
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (form.querySelector(name));
  const [preview, tools, said] = [part(".chat-picture"), part(".tools"), part("[role=status]")];
  const lanes = h("div.lanes");
  for (const [name, value] of Object.entries(about.defaults)) fields[name].value = value;
  fields.samples.max = about.most_samples;
  part(".protocol").append(choice({ name: "protocol" }, Object.fromEntries(about.protocols.map((/** @type {any} */ one) => [one.name, one.name])), about.protocol, offerTools));
  part(".pictures").append(...about.pictures.map((/** @type {any} */ one) => h("button.thumb", { type: "button", "aria-label": "use this picture", onclick: () => use(one) }, h("img", { src: imageUrl(about.run, one.hash, 64), alt: "" }))));
  fields.file.addEventListener("change", () => take(fields.file.files));
  fields.stop.addEventListener("click", () => [...running.keys()].map((id) => send(`/api/chat/${id}/stop`, {}).catch(() => null)));
  form.addEventListener("submit", (event) => { event.preventDefault(); void ask(null); });
  const drop = part(".drop");
  drop.addEventListener("dragover", (event) => event.preventDefault());
  drop.addEventListener("drop", (event) => { event.preventDefault(); void take(event.dataTransfer?.files); });
  const pasted = (/** @type {ClipboardEvent} */ event) => void take(event.clipboardData?.files);
  document.addEventListener("paste", pasted);
  onLeave(() => { document.removeEventListener("paste", pasted); close(); });

  /** @param {string} name */
  function offerTools(name) {
    const offered = about.protocols.find((/** @type {any} */ one) => one.name === name).tools;
    tools.replaceChildren(h("legend", "Tools"), ...offered.map((/** @type {string} */ tool) => h("label.facet", h("input", { type: "checkbox", name: "tool", value: tool, checked: true }), tool)));
    tools.hidden = !offered.length;
  }

  /** @param {FileList | null | undefined} files */
  async function take(files) {
    if (files?.length) await tried(said, async () => use((await send("/api/chat/pictures", files[0])).image));
  }

  /** @param {{ hash: string, width: number, height: number }} image */
  function use(image) {
    picture = image.hash;
    preview.replaceChildren(h("img", { src: imageUrl(about.run, image.hash, 512), alt: `your picture, ${image.width} × ${image.height} pixels` }), " ",
      h("button", { type: "button", onclick: () => { picture = null; preview.replaceChildren("No picture."); } }, "Remove"));
    announce("Picture added.");
  }

  /** @param {{ id: string, turn: number, text: string } | null} from */
  function ask(from) {
    return tried(said, async () => {
      const told = new FormData(form);
      const answer = await send("/api/chat", { image: picture, question: told.get("question"), protocol: told.get("protocol"), tools: told.getAll("tool"), samples: Number(told.get("samples")), temperature: Number(told.get("temperature")), seed: null, from });
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
    const live = h("pre.said.live", { "aria-label": `sample ${index + 1}, streaming` });
    const scene = h("div");
    const foot = h("p.small");
    const source = new EventSource(`/api/chat/${id}/events`);
    running.set(id, source);
    source.onerror = () => {
      const isOver = source.readyState === EventSource.CLOSED;
      foot.textContent = isOver ? "The server no longer has this sample." : "The server does not answer; this page waits.";
      if (isOver && running.delete(id)) told();
    };
    source.onopen = () => foot.replaceChildren();
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
      foot.append(" ", data.id ? h("a", { href: `#/run/${data.run}/t/${data.id}` }, "open record") : `It could not be saved: ${data.why}`);
    });
    return h("article.card", h("h2", `Sample ${index + 1}`), live, scene, foot);
  }

  /** Edit a turn and sample what follows. @param {string} id @param {import("./types").Scene} scene */
  function again(id, scene) {
    return h("details", h("summary", "Edit a turn and continue from there"), scene.turns.map((turn) => {
      const text = h("textarea", { rows: 3, "aria-label": `Turn ${turn.n}` });
      /** @type {HTMLTextAreaElement} */ (text).value = turn.text;
      return h("p", text, h("button", { type: "button", onclick: () => void ask({ id, turn: turn.n, text: valueOf(text) }) }, `Continue after turn ${turn.n}`));
    }));
  }

  function told() {
    fields.stop.disabled = !running.size;
    said.textContent = running.size ? `${counted(running.size, "sample")} running.` : "Done.";
  }

  function close() {
    for (const source of running.values()) source.close();
    running.clear();
  }

  offerTools(about.protocol);
  if (about.last) {
    fields.question.value = about.last.question;
    if (about.last.image) use(about.last.image);
    follow(about.last.ids);
  }
  return h("div.page", h("h1", `Chat with ${about.model}`), form, lanes);
}
