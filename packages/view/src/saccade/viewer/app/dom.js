// @ts-check
/** Elements made from data: every text becomes a text node, never markup. */

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG_SPACE = "http://www.w3.org/2000/svg";
const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;
/** What most texts are made of: the classes above take a browser some milliseconds to make. */
const PLAIN = /^[ -~\n\t\u00a0–…✓✗·]*$/;
const MAX_MARKS = 3;

export const VERDICT_WORDS = { right: "✓ right", wrong: "✗ wrong", failed: "! failed", unknown: "? no verdict" };

/** @typedef {Child | Child[] | Child[][]} Children */

/** @param {Element} element @param {(Children | Record<string, any>)[]} rest attributes, perhaps, then children */
function filled(element, rest) {
  for (const one of /** @type {any[]} */ (rest.flat(2))) {
    if (one === null || one === undefined || one === false) continue;
    if (one instanceof Node) element.append(one);
    else if (typeof one !== "object") element.append(shown(String(one)));
    else {
      for (const [name, value] of Object.entries(one)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? "" : String(value));
      }
    }
  }
  return element;
}

/** An HTML element by `tag.class.class`. @param {string} name @param {...(Children | Record<string, any>)} rest @returns {HTMLElement} */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  return /** @type {HTMLElement} */ (filled(element, rest));
}

/** An SVG element by `tag.class.class`. @param {string} name @param {...(Children | Record<string, any>)} rest @returns {SVGElement} */
export function svg(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS(SVG_SPACE, tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return /** @type {SVGElement} */ (filled(element, rest));
}

/** A copy of a form that the page brings along. @param {string} id @returns {HTMLElement} */
export function cloned(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
}

/** What the server drew, as `viewer/drawn.py` has it: name, attributes, children. @param {any} drawn @returns {any} */
export function built(drawn) {
  if (!Array.isArray(drawn)) return drawn;
  const [name, ...rest] = drawn;
  return (/^(svg|rect|polyline)\b/.test(name) ? svg : h)(name, ...rest.map(built));
}

/** A table that scrolls by itself; of each row the first cell is its heading, cells and rows may come made. @param {string} label @param {Children[]} heads @param {(Children[] | Node)[] | HTMLElement} rows */
export function table(label, heads, rows) {
  const cell = (/** @type {Children} */ one, /** @type {number} */ at) => (one instanceof HTMLTableCellElement ? one : at ? h("td", one) : h("th", { scope: "row" }, one));
  const body = rows instanceof Node ? rows : h("tbody", rows.map((row) => (row instanceof Node ? row : h("tr", row.map(cell)))));
  return h("div.scroll", { tabindex: 0, role: "group", "aria-label": label }, h("table", h("thead", h("tr", heads.map((one) => (one instanceof HTMLTableCellElement ? one : h("th", { scope: "col" }, one))))), body));
}

/** A cell of numbers. @param {...Children} children */
export function numbers(...children) {
  return h("td.numbers", children);
}

/** What a field says. @param {HTMLElement} field */
export function valueOf(field) {
  return /** @type {HTMLInputElement} */ (field).value;
}

/** A choice of values, each with its words; `act` is told the one that is chosen. @param {Record<string, any>} attributes @param {Record<string, string>} options @param {string} [chosen] @param {(value: string) => void} [act] */
export function choice(attributes, options, chosen, act) {
  const field = h("select", attributes, Object.entries(options).map(([value, words]) => h("option", { value, selected: value === chosen }, words)));
  if (act) field.addEventListener("change", () => act(valueOf(field)));
  return field;
}

/** The text with invisible and direction-changing characters spelled out. @param {string} text @returns {Node} */
export function shown(text) {
  if (PLAIN.test(text) || (!HIDDEN_CHARACTERS.test(text.replace(/[\n\t]/g, "")) && !/\p{M}{4}/u.test(text))) return document.createTextNode(text);
  const all = document.createDocumentFragment();
  let plain = "";
  let marks = 0;
  for (const character of text) {
    marks = /\p{M}/u.test(character) ? marks + 1 : 0;
    if (marks > MAX_MARKS) continue;
    if (character === "\n" || character === "\t" || !HIDDEN_CHARACTERS.test(character)) {
      plain += character;
      continue;
    }
    if (plain) all.append(plain);
    plain = "";
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const spelled = document.createElement("span");
    spelled.className = "hidden-character";
    spelled.textContent = `⟨U+${code}⟩`;
    all.append(spelled);
  }
  if (plain) all.append(plain);
  return all;
}

/** A number in four significant digits or fewer; a dash for none. @param {number | null | undefined} value */
export function numberText(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-3)) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
  return size >= 1000 ? many(Math.round(value)) : String(Number(value.toPrecision(4)));
}

/** `1,024`. @param {number} number */
export function many(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Does something; words about what went wrong go to a place. @param {HTMLElement} place @param {() => Promise<void>} act */
export async function tried(place, act) {
  try {
    await act();
  } catch (error) {
    place.textContent = String(/** @type {Error} */ (error).message);
  }
}

/** Once, when the page gives way to another. @param {() => void} act */
export function onLeave(act) {
  window.addEventListener("saccade:leave", act, { once: true });
}

/** `1 turn`, `2 turns`, `1,024 turns`. @param {number} number @param {string} word @param {string} [words] */
export function counted(number, word, words = `${word}s`) {
  return `${many(number)} ${number === 1 ? word : words}`;
}

/** A name of a stage or metric for people. @param {string} name */
export function readable(name) {
  return name.replaceAll("_", " ");
}

/** Notes, each a paragraph. @param {string[] | undefined} notes */
export function notesOf(notes) {
  return (notes ?? []).map((note) => h("p.note", note));
}

/** Says a sentence to screen readers, politely. @param {string} words */
export function announce(words) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = words;
}

/** Draws anew; what had the focus has it again, by its id. @param {HTMLElement} root @param {() => void} act */
export function redrawn(root, act) {
  const had = root.contains(document.activeElement) && document.activeElement?.id;
  act();
  if (had) document.getElementById(had)?.focus();
}

/** Calls `act` once, a little after the last call. @param {() => void} act @param {number} delay_ms */
export function later(act, delay_ms) {
  let timer = 0;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(act, delay_ms);
  };
}
