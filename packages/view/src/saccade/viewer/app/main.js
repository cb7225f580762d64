// @ts-check
/** The viewer in the browser: an address after `#` is a page; keys go from one to the next. */

import { api, carried, Refused } from "./api.js";
import { chatPage } from "./chat.js";
import { announce, built, h } from "./dom.js";
import { groupPage } from "./group.js";
import { listPage } from "./list.js";
import { besidePage, runPage, runsPage } from "./runs.js";
import { trajectoryPage } from "./trajectory.js";

/** @typedef {(parts: string[], query: URLSearchParams) => Promise<HTMLElement>} Page */

/** @type {[RegExp, Page, string][]} */
const PAGES = [
  [/^\/?$/, () => runsPage(), "Runs"],
  [/^\/run\/([^/]+)$/, ([run]) => runPage(run), "Run"],
  [/^\/beside$/, (_, query) => besidePage(query), "Compare runs"],
  [/^\/run\/([^/]+)\/list$/, ([run], query) => listPage(run, query), "Trajectories"],
  [/^\/run\/([^/]+)\/t\/([^/]+)$/, ([run, id], query) => trajectoryPage(run, id, query), "Trajectory"],
  [/^\/run\/([^/]+)\/group\/([^/]+)$/, ([run, id], query) => groupPage(run, id, query), "Group"],
  [/^\/evaluations$/, (_, query) => drawnPage(`/api/evaluations?${query}`), "Two evaluations"],
  [/^\/run\/([^/]+)\/marks$/, ([run]) => drawnPage(`/api/runs/${run}/annotations`), "Marks of readers"],
  [/^\/chat$/, () => chatPage(), "Chat"],
];

const place = /** @type {HTMLElement} */ (document.getElementById("view"));
const report = document.getElementById("report");
let shows = 0;

async function route() {
  const address = location.hash.slice(1) || carried?.home || "/";
  const isReport = report !== null && !location.hash.startsWith("#/");
  if (report) report.hidden = !isReport;
  place.hidden = isReport;
  markNavigation(isReport ? "" : address);
  if (isReport) return void place.removeAttribute("aria-busy");
  const [path, search] = address.split("?", 2);
  const mine = (shows += 1);
  place.setAttribute("aria-busy", "true");
  window.dispatchEvent(new Event("saccade:leave"));
  const page = await pageFor(path, new URLSearchParams(search ?? ""));
  if (mine !== shows) return;
  place.removeAttribute("aria-busy");
  place.replaceChildren(page);
  window.scrollTo(0, 0);
  page.setAttribute("tabindex", "-1");
  page.focus({ preventScroll: true });
}

/** @param {string} path @param {URLSearchParams} query */
async function pageFor(path, query) {
  for (const [pattern, page, title] of PAGES) {
    const match = path.match(pattern);
    if (!match) continue;
    document.title = `${title} · Saccade`;
    try {
      return await page(match.slice(1), query);
    } catch (error) {
      return trouble(error);
    }
  }
  return h("div.page", h("h1", "Page not found"), h("p", h("a", { href: "#/" }, "All runs")));
}

/** A page that the server drew. @param {string} path */
async function drawnPage(path) {
  return built((await api(path)).page);
}

/** A clear word instead of a broken page. @param {unknown} error */
function trouble(error) {
  const words = error instanceof Refused ? error.message : `The page could not be rendered: ${error}`;
  announce(words);
  return h("div.page.trouble", h("h1", "This page cannot be shown"), h("p", words), h("p", h("a", { href: "#/" }, "All runs"), " · ", h("button", { type: "button", onclick: () => void route() }, "Try again")));
}

/** @param {string} address */
function markNavigation(address) {
  for (const link of document.querySelectorAll("nav.top a")) {
    const target = link.getAttribute("href")?.slice(1) ?? "";
    if (target === address.split("?")[0]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Single keys follow links that show them, but never while somebody writes. */
document.addEventListener("keydown", (event) => {
  const target = event.target;
  const isWriting = target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
  if (isWriting || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search instanceof HTMLElement) {
      event.preventDefault();
      search.focus();
    }
    return;
  }
  const link = document.querySelector(`#view [data-key="${CSS.escape(event.key)}"]`);
  if (link instanceof HTMLAnchorElement) {
    event.preventDefault();
    link.click();
  }
});

/** Forms of pages that the server drew lead to another address. */
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.dataset.to) return;
  event.preventDefault();
  location.hash = `#${form.dataset.to}?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`;
});

window.addEventListener("hashchange", () => void route());
void route();
