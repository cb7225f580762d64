// @ts-check
/** The picture, large: zoomed down to pixels, with every region over it and lines to what was cut out of it. */

import { imageUrl, seenUrl } from "./api.js";
import { announce, h, numberText, svg } from "./dom.js";

/** @typedef {import("./types").Region} Region */
/** @typedef {import("./types").Picture} Picture */
/** @typedef {{ x: number, y: number, width: number, height: number }} View */

const KIND_WORDS = { target: "target of the question", asked: "requested by a call", named: "named in a thought", hit: "point that hit", miss: "point that missed" };
const PIXELATED_FROM = 2;
const MARK_PX = 13;
const ZOOM_STEP = 1.5;
const ENDS = /** @type {const} */ (["pointerup", "pointercancel"]);

/**
 * @param {string} run @param {Picture[]} pictures @param {Region[]} regions @param {import("./link.js").Link} link
 * @param {(box: number[], picture: Picture) => void} [onDrawn] a box that a reader drew, in pixels
 * @param {HTMLElement | null} [places] the regions in words
 */
export function pictureView(run, pictures, regions, link, onDrawn, places) {
  const stage = h("div.stage", { tabindex: 0, role: "group", "aria-label": "Picture. Plus and minus zoom, arrows move, 0 shows the whole picture" });
  const drawing = svg("svg.drawing", { role: "group", "aria-label": "locations on the picture" });
  const readout = h("output.small.readout", " ");
  const strip = h("ul.strip");
  const lines = svg("svg.lines", { "aria-hidden": "true" });
  const element = h("section.look", { "aria-label": "Pictures and locations" });
  let current = pictures[0];
  /** @type {View} */
  let view = { x: 0, y: 0, width: 1, height: 1 };
  let isDrawing = false;
  let isAsSeen = false;
  const seenWords = h("span");
  const asSeen = h("label.as-seen", h("input", { type: "checkbox", onchange: (/** @type {Event} */ event) => {
    isAsSeen = /** @type {HTMLInputElement} */ (event.target).checked;
    show(current.key);
  } }), seenWords);

  const scale = () => Math.min(stage.clientWidth / view.width, stage.clientHeight / view.height) || 1;

  /** Where a point of the picture is in the stage. @param {number} x @param {number} y */
  function inStage(x, y) {
    const zoom = scale();
    return [(x - view.x) * zoom + (stage.clientWidth - view.width * zoom) / 2, (y - view.y) * zoom + (stage.clientHeight - view.height * zoom) / 2];
  }

  /** @param {number} clientX @param {number} clientY */
  function inPicture(clientX, clientY) {
    const rect = drawing.getBoundingClientRect();
    const zoom = scale();
    return [(clientX - rect.left - (stage.clientWidth - view.width * zoom) / 2) / zoom + view.x, (clientY - rect.top - (stage.clientHeight - view.height * zoom) / 2) / zoom + view.y];
  }

  /** @param {string} key */
  function show(key) {
    const picture = pictures.find((one) => one.key === key);
    if (!picture) return;
    current = picture;
    stage.style.aspectRatio = `${Math.max(picture.width, 1)} / ${Math.max(picture.height, 1)}`;
    asSeen.hidden = !picture.seen || !seenUrl(run, picture.hash);
    seenWords.textContent = picture.seen ? ` as the model saw it, ${picture.seen[0]} × ${picture.seen[1]} px` : "";
    drawing.replaceChildren(pixels(run, picture, isAsSeen && !asSeen.hidden), svg("path.veiled", { d: picture.veil }), ...regions.filter((one) => one.picture === key).sort((a, b) => areaOf(b) - areaOf(a)).map(regionShape));
    for (const item of /** @type {NodeListOf<HTMLElement>} */ ((element.closest(".scene") ?? strip).querySelectorAll(".thumb"))) item.setAttribute("aria-pressed", String(item.dataset.key === key));
    all();
  }

  function refresh() {
    const zoom = scale();
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    drawing.classList.toggle("pixelated", zoom >= PIXELATED_FROM || (isAsSeen && !asSeen.hidden));
    for (const mark of drawing.querySelectorAll("text[data-x]")) placeMark(mark, zoom);
    for (const dot of drawing.querySelectorAll("circle")) dot.setAttribute("r", String(7 / zoom));
    drawLines();
  }

  function drawLines() {
    const frame = element.getBoundingClientRect();
    const at = drawing.getBoundingClientRect();
    lines.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    lines.replaceChildren(...pictures.flatMap((picture) => {
      const origin = picture.origin;
      const thumb = strip.querySelector(`button[data-key="${picture.key}"] img`);
      if (!origin || origin.picture !== current.key || !thumb) return [];
      const to = thumb.getBoundingClientRect();
      const [left, , right, bottom] = origin.box;
      const d = [[left, to.left], [right, to.right]].map(([x, end]) => {
        const [px, py] = inStage(x, bottom);
        const inside = [clipped(px, stage.clientWidth), clipped(py, stage.clientHeight)];
        return `M${inside[0] + at.left - frame.left} ${inside[1] + at.top - frame.top}L${end - frame.left} ${to.top - frame.top}`;
      }).join("");
      return [svg("g", { "data-region": origin.region, class: "to-crop" }, svg("path.halo", { d }), svg("path.stroke", { d }))];
    }));
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] the point that stays where it is, in pixels */
  function zoomBy(factor, x = view.x + view.width / 2, y = view.y + view.height / 2) {
    const width = Math.min(Math.max(view.width / factor, Math.min(8, current.width)), current.width);
    const ratio = width / view.width;
    view = kept({ x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio, width, height: view.height * ratio });
    refresh();
    announce(`Zoom ${numberText(Number(scale().toPrecision(2)))} times`);
  }

  /** @param {View} wanted */
  function kept(wanted) {
    return { ...wanted, x: clipped(wanted.x, Math.max(current.width - wanted.width, 0)), y: clipped(wanted.y, Math.max(current.height - wanted.height, 0)) };
  }

  /** @param {number} dx @param {number} dy in pixels of the picture */
  function move(dx, dy) {
    view = kept({ ...view, x: view.x + dx, y: view.y + dy });
    refresh();
  }

  function all() {
    view = { x: 0, y: 0, width: Math.max(current.width, 1), height: Math.max(current.height, 1) };
    refresh();
  }

  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = view.width / 8;
    /** @type {Record<string, () => void>} */
    const acts = { "+": () => zoomBy(ZOOM_STEP), "=": () => zoomBy(ZOOM_STEP), "-": () => zoomBy(1 / ZOOM_STEP), 0: all,
      ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0), ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step) };
    const act = acts[event.key];
    if (!act || (event.key.startsWith("Arrow") && view.width >= current.width)) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const [x, y] = inPicture(event.clientX, event.clientY);
    zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, x, y);
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => zoomBy(2, ...inPicture(event.clientX, event.clientY)));
  handlePointers();

  function handlePointers() {
    /** @type {Map<number, PointerEvent>} */
    const down = new Map();
    /** @type {number[] | null} */
    let from = null;
    const preview = svg("rect.preview");
    stage.addEventListener("pointerdown", (event) => {
      down.set(event.pointerId, event);
      for (const end of ENDS) window.addEventListener(end, up);
      stage.classList.toggle("is-zoomed", view.width < current.width);
      if (isDrawing) {
        event.preventDefault();
        from = inPicture(event.clientX, event.clientY);
        drawing.append(preview);
      }
    });
    stage.addEventListener("pointermove", (event) => {
      const [x, y] = inPicture(event.clientX, event.clientY);
      readout.textContent = placeWords(x, y, current);
      const before = down.get(event.pointerId);
      if (!before) return;
      if (from) {
        const [x1, y1, x2, y2] = boxOf(from, [x, y], current);
        for (const [name, value] of Object.entries({ x: x1, y: y1, width: x2 - x1, height: y2 - y1 })) preview.setAttribute(name, String(value));
      } else if (down.size === 2) {
        const other = [...down.values()].find((one) => one.pointerId !== event.pointerId);
        if (other) zoomBy(distance(event, other) / Math.max(distance(before, other), 1), x, y);
        down.set(event.pointerId, event);
      } else if (view.width < current.width) {
        move((before.clientX - event.clientX) / scale(), (before.clientY - event.clientY) / scale());
        down.set(event.pointerId, event);
      }
    });
    const up = (/** @type {PointerEvent} */ event) => {
      if (from && down.has(event.pointerId)) {
        const box = boxOf(from, inPicture(event.clientX, event.clientY), current);
        const isWhole = event.type === "pointerup";
        from = null;
        preview.remove();
        setDrawing(!isWhole);
        if (isWhole && box[2] - box[0] > 1 && box[3] - box[1] > 1) onDrawn?.(box, current);
      }
      down.delete(event.pointerId);
      if (!down.size) for (const end of ENDS) window.removeEventListener(end, up);
    };
  }

  /** @param {boolean} on */
  function setDrawing(on) {
    isDrawing = on;
    stage.classList.toggle("is-drawing", on);
  }

  /** @param {string} words @param {string} label @param {() => void} act */
  const button = (words, label, act) => h("button", { type: "button", class: "tool", "aria-label": label, title: label, onclick: act }, words);
  const bar = h("div.picture-bar", button("−", "zoom out", () => zoomBy(1 / ZOOM_STEP)), button("+", "zoom in", () => zoomBy(ZOOM_STEP)), button("fit", "show the whole picture", all), asSeen, readout);
  stage.append(drawing);
  strip.append(...pictures.map((picture) => stripItem(run, picture, () => show(picture.key))));
  element.append(bar, stage, pictures.length > 1 ? strip : "", legend(regions), places ?? "", lines);
  link.onLit((region) => {
    const at = regions.find((one) => one.id === region);
    if (at && at.picture !== current.key && link.pinned() === region) show(at.picture);
  });
  const observer = new ResizeObserver(refresh);
  observer.observe(stage);
  observer.observe(strip);
  if (pictures.length) show(pictures[0].key);
  else stage.replaceChildren(h("p.empty", "This question has no picture."));
  return { element, show, draw: () => setDrawing(true) };
}

/** @param {string} run @param {Picture} picture @param {boolean} isAsSeen */
function pixels(run, picture, isAsSeen) {
  const image = svg("image", { width: Math.max(picture.width, 0), height: Math.max(picture.height, 0), preserveAspectRatio: "none", href: isAsSeen ? seenUrl(run, picture.hash) : imageUrl(run, picture.hash) });
  image.addEventListener("error", () => image.replaceWith(svg("text.missing", { x: picture.width / 2, y: picture.height / 2, "text-anchor": "middle", "font-size": Math.max(picture.width / 24, 6) }, "picture not on disk")));
  return image;
}

/** @param {Region} region */
function regionShape(region) {
  const words = `${KIND_WORDS[region.kind]}: ${region.label}${region.fate && `, ${region.fate}`}, ${coordinates(region)}`;
  const group = svg("g", { class: `region ${region.kind}`, "data-region": region.id, tabindex: 0, role: "button", "aria-label": words });
  if (region.mask) group.append(maskImage(region.mask));
  const drawn = (/** @type {string} */ shape, /** @type {Record<string, number>} */ at, /** @type {number} */ x, /** @type {number} */ y) =>
    group.append(...layers(shape, at), svg("text.mark", { "data-x": x, "data-y": y }, region.mark));
  if (region.box) {
    const [x1, y1, x2, y2] = region.box;
    const [x, y] = [Math.min(x1, x2), Math.min(y1, y2)];
    drawn("rect", { x, y, width: Math.max(Math.abs(x2 - x1), 0.01), height: Math.max(Math.abs(y2 - y1), 0.01) }, x, y);
  }
  if (region.point) drawn("circle", { cx: region.point[0], cy: region.point[1], r: 4 }, ...region.point);
  group.append(svg("title", words));
  return group;
}

/** A shape that stays visible on any ground: a dark and a light line below its own. @param {string} shape @param {Record<string, number>} at */
function layers(shape, at) {
  return ["dark", "light", "stroke"].map((name) => svg(shape, { class: name, ...at }));
}

/** A mark sits above its box; that of a target, and at the top of the picture, inside. @param {Element} mark @param {number} zoom */
function placeMark(mark, zoom) {
  const y = Number(mark.getAttribute("data-y"));
  const isInside = y < 18 / zoom;
  const isTarget = mark.parentElement?.classList.contains("target");
  mark.setAttribute("font-size", String(MARK_PX / zoom));
  mark.setAttribute("x", String(Number(mark.getAttribute("data-x")) + (isInside || isTarget ? 5 : 0) / zoom));
  mark.setAttribute("y", String(isInside || isTarget ? Math.max(y, 0) + 16 / zoom : y - 5 / zoom));
}

/** @param {import("./types").Mask} mask */
function maskImage(mask) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.min(mask.width, 4096);
  canvas.height = Math.min(mask.height, 4096);
  const context = canvas.getContext("2d");
  const data = context?.createImageData(canvas.width, canvas.height);
  if (!context || !data || canvas.width !== mask.width || canvas.height !== mask.height) return svg("g");
  let at = 0;
  mask.counts.forEach((count, index) => {
    if (index % 2) for (let place = at; place < Math.min(at + count, mask.width * mask.height); place += 1) {
      const x = Math.floor(place / mask.height);
      const y = place % mask.height;
      data.data.set(((x + y) >> 2) % 2 === 0 ? [255, 255, 255, 150] : [20, 120, 60, 150], 4 * (y * mask.width + x));
    }
    at += count;
  });
  context.putImageData(data, 0, 0);
  return svg("image.mask", { width: mask.width, height: mask.height, href: canvas.toDataURL() });
}

/** @param {Region} region */
function coordinates(region) {
  const inPixels = `${region.pixels} in pixels`;
  return region.written && region.frame !== "pixels" ? `${region.written.map(numberText).join(", ")} (${region.frame}); ${inPixels}` : inPixels;
}

/** @param {Region[]} regions */
function legend(regions) {
  const kinds = [...new Set(regions.map((one) => one.kind))];
  return h("p.legend", ...kinds.map((kind) => h("span", svg("svg", { class: `swatch region ${kind}`, viewBox: "0 0 20 14", "aria-hidden": "true" },
    /hit|miss/.test(kind) ? layers("circle", { cx: 10, cy: 7, r: 4 }) : layers("rect", { x: 3, y: 3, width: 14, height: 8 })), ` ${KIND_WORDS[kind]}`)));
}

/** @param {string} run @param {Picture} picture @param {() => void} open */
export function stripItem(run, picture, open) {
  const image = h("img", { src: imageUrl(run, picture.hash, 256), alt: "", width: picture.width, height: picture.height, class: picture.width < 200 && "pixelated" });
  return h("li", h("button", { type: "button", class: "thumb", "data-key": picture.key, "data-region": picture.origin?.region, "aria-pressed": "false", onclick: open },
    image, h("span.small", picture.caption, picture.cut, h("span.block", `${picture.width} × ${picture.height} px`, picture.seen && `, seen at ${picture.seen[0]} × ${picture.seen[1]}`))));
}

/** @param {number} x @param {number} y @param {Picture} picture */
function placeWords(x, y, picture) {
  if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) return " ";
  return `pixel ${Math.floor(x)}, ${Math.floor(y)} · ${Math.round((1000 * x) / picture.width)}, ${Math.round((1000 * y) / picture.height)} of 1000`;
}

/** @param {number[]} from @param {number[]} to @param {Picture} picture */
function boxOf(from, to, picture) {
  const most = [picture.width, picture.height];
  return [Math.min, Math.max].flatMap((side) => [0, 1].map((at) => Math.round(clipped(side(from[at], to[at]), most[at]))));
}

/** @param {number} value @param {number} most */
function clipped(value, most) {
  return Math.min(Math.max(value, 0), most);
}

/** @param {PointerEvent} a @param {PointerEvent} b */
function distance(a, b) {
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
}

/** @param {Region} region */
function areaOf(region) {
  return region.box ? Math.abs((region.box[2] - region.box[0]) * (region.box[3] - region.box[1])) : 0;
}
