// Controls that several figures have: rows with a name, sliders, and numbers that are dragged in a drawing.
import { draggable, fmt, h, s, spot } from "./dom.js";

/**
 * A row: its name, and what it names.
 * @param {string} name
 * @param {...Node} parts
 * @returns {HTMLElement}
 */
export const labelled = (name, ...parts) => h("div", { class: "attnlab-row" }, h("span", { class: "attnlab-label" }, name), ...parts);

/**
 * A slider in a row of its own, between its name and its reading.
 * @param {{ part: string, label: string, limits: { min: number, max: number, step: number }, role?: string,
 *   onInput: (value: number) => void }} given `role`: query, key, value or output, for its colour
 * @returns {{ row: HTMLElement, input: HTMLInputElement, show: (at: number, text: string) => void }} `show` moves it to a
 *   place and writes the reading, for eyes and for screen readers
 */
export function slider({ part, label, limits, role = "query", onInput }) {
  const input = h("input", {
    type: "range",
    ...limits,
    "data-part": part,
    "aria-label": label,
    style: `accent-color: var(--fig-${role})`,
    on: { input: () => onInput(Number(input.value)) },
  });
  const reading = h("span", { class: "attnlab-reading" });
  const row = labelled(label, input, reading);
  row.classList.add("is-slider");
  return {
    row,
    input,
    show(at, text) {
      input.value = String(at);
      input.setAttribute("aria-valuetext", text);
      reading.textContent = text;
    },
  };
}

/**
 * A slider for the temperature, in powers of a base: from 0.01 to 100, unless told otherwise.
 * @param {(temperature: number) => void} onInput
 * @param {{ base: number, reach: number, step: number }} [powers] from base^-reach to base^reach
 */
export function temperatureSlider(onInput, { base, reach, step } = { base: 10, reach: 2, step: 0.05 }) {
  const { row, show } = slider({
    part: "temperature",
    label: "Temperature",
    limits: { min: -reach, max: reach, step },
    onInput: (x) => onInput(Math.round(base ** x * 1000) / 1000),
  });
  return { row, show: (/** @type {number} */ t) => show(Math.log(t) / Math.log(base), fmt(t, t < 1 ? 3 : 2)) };
}

/**
 * Something in a drawing that is dragged, or moved with keys.
 * @param {{ which: string | number, limits: [number, number], style: string }} given
 * @param {...(Node | string)} children
 */
export const grip = ({ which, limits: [low, high], style }, ...children) =>
  s("g", { tabindex: 0, role: "slider", "data-part": "handle", "data-which": which, "aria-valuemin": low, "aria-valuemax": high, style }, ...children);

/**
 * A number on a stem, from -limit to limit: drag it up and down, or press keys.
 * @param {{ plane: SVGElement, signal: AbortSignal, which: number, label: string, x: number, wide: number, zero: number,
 *   unit: number, limit: number, get: () => number, move: (to: number) => void }} given x: its middle; wide: of the
 *   column in which it can be gripped; zero and unit: where 0 lies, and how far 1 is from it
 * @param {...SVGElement} texts
 * @returns {{ g: SVGElement, show: (value: number, spoken: string) => number }} `show` moves it and returns its height
 */
export function stem({ plane, signal, which, label, x, wide, zero, unit, limit, get, move }, ...texts) {
  const high = limit * unit + 10;
  const [line, dot] = [s("line", { y1: zero, stroke: "var(--fig-key)", "stroke-width": 3 }), s("circle", { r: 8, fill: "var(--fig-key)" })];
  const room = s("rect", { x: -wide / 2, y: zero - high, width: wide, height: 2 * high, fill: "transparent" });
  const g = grip({ which, limits: [-limit, limit], style: "cursor: ns-resize" }, room, line, dot, ...texts);
  for (const [key, value] of Object.entries({ transform: `translate(${x} 0)`, "aria-label": label, "aria-orientation": "vertical" })) g.setAttribute(key, value);
  const within = (/** @type {number} */ value) => Math.round(Math.min(Math.max(value, -limit), limit) * 100) / 100;
  const to = (/** @type {number} */ value) => move(within(value));
  draggable(g, signal, (event) => to((zero - spot(plane, event)[1]) / unit));
  keyed(g, (by) => to(get() + by));
  return {
    g,
    show(value, spoken) {
      const y = zero - unit * within(value);
      line.setAttribute("y2", String(y));
      dot.setAttribute("cy", String(y));
      g.setAttribute("aria-valuenow", String(within(value)));
      g.setAttribute("aria-valuetext", spoken);
      return y;
    },
  };
}

/**
 * Arrows move a number by a tenth, page keys by one, Home and End to its limits.
 * @param {Element} el
 * @param {(by: number) => void} move
 */
export function keyed(el, move) {
  el.addEventListener("keydown", (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event);
    const by = { ArrowUp: 0.1, ArrowRight: 0.1, ArrowDown: -0.1, ArrowLeft: -0.1, PageUp: 1, PageDown: -1, Home: -Infinity, End: Infinity }[key];
    if (!by) return;
    event.preventDefault();
    move(by);
  });
}
