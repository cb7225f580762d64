// @ts-check
/** Answers and pictures: from the server, or from what an exported file carries. */

import { h, onLeave } from "./dom.js";
import { answerFrom } from "./offline.js";

/** @type {import("./types").ExportData | null} */
export const carried = blockOf("export");

/** What the page that is drawn first would ask for; later it may have changed. @type {Record<string, any> | null} */
let first = blockOf("first");
setTimeout(() => { first = null; });

/** @param {string} id */
function blockOf(id) {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

/** The way to a run's own page; nothing in a file that does not carry it. @param {string} run @param {string} name */
export function runLink(run, name) {
  return !carried || `/api/runs/${run}` in carried.answers ? h("a", { href: `#/run/${run}` }, name) : null;
}

const SILENT = "The viewer's server does not answer. Is `saccade view` still running?";

/** Words for people about what a server could not answer. */
export class Refused extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** @param {string} path @returns {Promise<any>} */
export async function api(path) {
  if (carried) {
    const answer = answerFrom(carried, path);
    if (answer === undefined) throw new Refused("This file does not contain that page. Open the run itself with `saccade view`.", 404);
    return answer;
  }
  return first?.[path] ?? answered(await reached(path, {}));
}

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export async function send(path, body) {
  const token = document.querySelector('meta[name="saccade-token"]')?.getAttribute("content") ?? "";
  const isFile = body instanceof Blob;
  return answered(await reached(path, {
    method: "POST",
    headers: { "X-Saccade-Token": token, "Content-Type": isFile ? body.type : "application/json" },
    body: isFile ? body : JSON.stringify(body),
  }));
}

/** @param {string} path @param {RequestInit} request */
async function reached(path, request) {
  try {
    return await fetch(path, request);
  } catch {
    throw new Refused(SILENT, 0);
  }
}

/** @param {Response} response */
async function answered(response) {
  const answer = await response.json().catch(() => null);
  if (!response.ok || !answer) throw new Refused(answer?.error?.message ?? `The server answered ${response.status}.`, response.status);
  return answer;
}

/** @param {string} run @param {string} hash @param {number} [width] of a smaller one */
export function imageUrl(run, hash, width) {
  if (!/^[0-9a-f]{64}$/.test(hash)) return "";
  if (carried) return carried.images[hash] ?? document.getElementById(`image-${hash.slice(0, 24)}`)?.getAttribute("href") ?? "";
  return `/media/${encodeURIComponent(run)}/${hash}.png${width ? `?w=${width}` : ""}`;
}

/** A picture as the policy saw it; empty where the file does not hold it. @param {string} run @param {string} hash */
export function seenUrl(run, hash) {
  if (carried) return carried.images[`${hash}:seen`] ?? "";
  return `${imageUrl(run, hash)}?seen=1`;
}

/** Events of a run, or of all, until the page is left; a page that gave way before it was drawn asks for none. @param {HTMLElement} page @param {string | null} run @param {Record<string, (data: any) => void>} handlers */
export function listen(page, run, handlers) {
  if (!carried) setTimeout(() => page.isConnected && listening(run, handlers));
}

/** @param {string | null} run @param {Record<string, (data: any) => void>} handlers */
function listening(run, handlers) {
  const source = new EventSource(`/api/events${run ? `?run=${encodeURIComponent(run)}` : ""}`);
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  }
  const lost = h("p.note", { role: "status" }, `${SILENT} This page continues when it is back.`);
  source.onerror = () => lost.isConnected || document.getElementById("view")?.prepend(lost);
  // What came between the page's answer and now was told to nobody.
  source.onopen = () => {
    lost.remove();
    handlers.step?.({});
  };
  onLeave(() => source.close());
}
