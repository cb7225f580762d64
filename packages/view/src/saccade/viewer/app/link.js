// @ts-check
/** Words and places that belong together: what is pointed at, focused or tapped lights up on both sides. */

/** @typedef {{ onLit: (act: (region: string | null) => void) => void, pinned: () => string | null }} Link */

/** All elements below `root` with one `data-region` are lit together. @param {HTMLElement} root @returns {Link} */
export function linked(root) {
  /** @type {((region: string | null) => void)[]} */
  const acts = [];
  /** @type {string | null} */
  let pinned = null;
  /** @type {string | null} */
  let lit = null;

  /** @param {string | null} region */
  function light(region) {
    const next = region ?? pinned;
    if (next === lit) return;
    lit = next;
    for (const element of root.querySelectorAll("[data-region].lit")) element.classList.remove("lit");
    if (lit) for (const element of root.querySelectorAll(`[data-region="${CSS.escape(lit)}"]`)) element.classList.add("lit");
    root.classList.toggle("has-lit", lit !== null);
    for (const act of acts) act(lit);
  }

  /** @param {Event} event */
  function regionOf(event) {
    const target = event.target instanceof Element ? event.target.closest("[data-region]") : null;
    return target?.getAttribute("data-region") ?? null;
  }

  root.addEventListener("pointerover", (event) => light(regionOf(event)));
  root.addEventListener("pointerleave", () => light(null));
  root.addEventListener("focusin", (event) => light(regionOf(event)));
  root.addEventListener("focusout", () => light(null));
  root.addEventListener("click", (event) => {
    const region = regionOf(event);
    if (!region) return;
    pinned = pinned === region ? null : region;
    light(region);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      pinned = null;
      light(null);
    } else if ((event.key === "Enter" || event.key === " ") && event.target instanceof Element && event.target.getAttribute("role") === "button") {
      event.preventDefault();
      event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
  });
  return { onLit: (act) => void acts.push(act), pinned: () => pinned };
}
