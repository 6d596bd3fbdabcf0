// Rows of offsets that are open or closed: painted by click, drag, finger and keys.
import { first, h } from "./dom.js";
import { FARTHEST } from "../math/design.js";
import { signed } from "../math/board.js";

/** All there are, 0 among them. */
export const OFFSETS = Array.from({ length: 2 * FARTHEST + 1 }, (_, i) => i - FARTHEST);

/**
 * @param {{ layer: number, signal: AbortSignal, open: (offset: number) => boolean, paint: (offset: number, on: boolean) => void }} given
 * @returns {{ el: HTMLElement, show: () => void, name: (text: string) => void }}
 */
export function offsets({ layer, signal, open, paint }) {
  const cell = (/** @type {number} */ offset) =>
    offset
      ? h("button", { type: "button", "data-part": "offset", "data-layer": layer, "data-offset": offset, tabindex: offset === -1 ? 0 : -1, on: { click } }, signed(offset))
      : h("span", { class: "attnlab-own", title: "the word itself" }, "0");
  const named = h("span", { class: "attnlab-label" });
  const group = h("div", { class: "attnlab-offsets", role: "group", on: { keydown: walk, pointerdown: start } }, ...OFFSETS.map(cell));
  const el = h("div", { class: "attnlab-painter" }, named, group);
  /** @type {{ on: boolean, from: number } | null} */
  let brush = null;
  let painted = false;
  group.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!brush) return;
    painted = true;
    for (const under of [brush.from, at(event)]) if (under !== null) paint(under, brush.on);
  }, { signal });
  for (const name of ["pointerup", "pointercancel"]) group.addEventListener(name, () => (brush = null), { signal });
  return {
    el,
    name(text) {
      named.textContent = text;
      named.hidden = !text;
      group.setAttribute("aria-label", `Whom a word sees${text ? `, ${text}` : ""}: offsets from itself`);
    },
    show() {
      for (const button of group.querySelectorAll("button")) {
        const offset = Number(button.dataset.offset);
        const far = Math.abs(offset);
        button.setAttribute("aria-pressed", String(open(offset)));
        button.setAttribute("aria-label", `${signed(offset)}: ${far === 1 ? "the word" : `${far} words`} ${offset < 0 ? "before" : "after"}`);
      }
    },
  };

  /** A click without a pointer comes from a key or an assistive tool; a finger that only taps clicks, too. @param {MouseEvent} event */
  function click(event) {
    if (painted && event.detail) return void (painted = false);
    const offset = Number(/** @type {HTMLElement} */ (event.currentTarget).dataset.offset);
    paint(offset, !open(offset));
  }

  /**
   * The first cell sets the brush. A mouse paints when it goes down. A finger that only taps clicks; one that goes along the row paints,
   * and one that goes up or down scrolls.
   * @param {PointerEvent} event
   */
  function start(event) {
    painted = false;
    const under = at(event);
    if (under === null || !first(event)) return;
    brush = { on: !open(under), from: under };
    if (event.pointerType === "touch") return;
    group.setPointerCapture(event.pointerId);
    painted = true;
    paint(under, brush.on);
  }

  /** @param {PointerEvent} event @returns {number | null} */
  function at(event) {
    const root = /** @type {Document | ShadowRoot} */ (group.getRootNode());
    const under = /** @type {HTMLElement | null} */ (root.elementFromPoint(event.clientX, event.clientY)?.closest("[data-offset]") ?? null);
    return under && group.contains(under) ? Number(under.dataset.offset) : null;
  }

  /** @param {KeyboardEvent} event */
  function walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -99, End: 99 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...group.querySelectorAll("button")];
    const here = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const to = buttons[Math.min(Math.max(here + step, 0), buttons.length - 1)];
    if (event.shiftKey) paint(Number(to.dataset.offset), open(Number(buttons[here].dataset.offset)));
    for (const button of buttons) button.tabIndex = button === to ? 0 : -1;
    to.focus();
  }
}
