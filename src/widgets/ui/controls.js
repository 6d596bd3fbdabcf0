// Controls that several figures have: a labelled slider in a row, and keys that move a dragged number.
import { h } from "./dom.js";

/**
 * A slider in a row of its own, between its name and its reading; where that is too narrow, below its name.
 * @param {{ part: string, label: string, limits: { min: number, max: number, step: number },
 *   onInput: (value: number) => void }} given
 * @returns {{ row: HTMLElement, input: HTMLInputElement, show: (at: number, text: string) => void }} `show` moves it to a
 *   place and writes the reading, for eyes and for screen readers
 */
export function slider({ part, label, limits, onInput }) {
  const input = h("input", {
    type: "range",
    ...limits,
    "data-part": part,
    "aria-label": label,
    style: "flex: 1 1 auto; min-width: 0; min-height: 28px; accent-color: var(--fig-query)",
    on: { input: () => onInput(Number(input.value)) },
  });
  const reading = h("span", { style: "min-width: 3.2rem; font-variant-numeric: tabular-nums" });
  const name = h("span", { class: "attnlab-label", style: "flex: none; width: 7.5rem" }, label);
  // Less than 12rem for slider and reading: they take the next line, whole.
  const hold = h("span", { style: "display: flex; flex: 1 1 12rem; min-width: 0; gap: .8rem; align-items: center" }, input, reading);
  return {
    row: h("div", { class: "attnlab-row", style: "row-gap: 0" }, name, hold),
    input,
    show(at, text) {
      input.value = String(at);
      input.setAttribute("aria-valuetext", text);
      reading.textContent = text;
    },
  };
}

/**
 * Let keys move a number that is also dragged: arrows by a step, page keys by one, Home and End to the limits.
 * @param {Element} el
 * @param {{ step: number, limit: number, get: () => number, move: (to: number) => void }} given the number lies between
 *   -limit and limit
 */
export function numberKeys(el, { step, limit, get, move }) {
  el.addEventListener("keydown", (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key;
    const by = { ArrowUp: step, ArrowRight: step, ArrowDown: -step, ArrowLeft: -step, PageUp: 1, PageDown: -1 }[key];
    const to = by ? get() + by : { Home: -limit, End: limit }[key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  });
}
