// Tables of numbers: the strip that scrolls them, the way from cell to cell by key, and a picture of weights to save.
import { h, s, standalone } from "./dom.js";

/**
 * A row that its first cell names.
 * @param {(string | HTMLElement)[]} cells text, or a cell of its own
 * @param {Record<string, any>} [props]
 */
const row = ([first, ...rest], props = {}) =>
  h("tr", props, h("th", { scope: "row", dir: "auto", style: String(first).length < 13 && "white-space: nowrap" }, first), ...rest.map((cell) => (typeof cell === "string" ? h("td", {}, cell) : cell)));

/**
 * @param {string} part
 * @param {string[]} head
 * @param {(string | HTMLElement)[][]} rows the first cell of each names it
 * @param {{ caption?: string, bold?: number }} [more] `bold`: the row that is the present one, written bold
 * @returns {HTMLTableElement}
 */
export const table = (part, head, rows, { caption, bold } = {}) =>
  h(
    "table",
    { "data-part": part },
    caption && h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col", dir: "auto" }, text)))),
    h("tbody", {}, ...rows.map((cells, i) => row(cells, { "aria-current": i === bold && "true" }))),
  );

/**
 * A strip for tables that may be wider than the figure; keys can scroll it.
 * @param {string} label
 * @returns {HTMLElement}
 */
export const strip = (label) => h("div", { class: "attnlab-scroll attnlab-tight", tabindex: 0, role: "group", "aria-label": label });

/**
 * The cell that an arrow key leads to. Cells carry data-row and data-column.
 * @param {KeyboardEvent} event
 * @returns {HTMLElement | null}
 */
export function neighbour(event) {
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const { tagName, dataset: at } = /** @type {HTMLElement} */ (event.target);
  if (!step || at.row === undefined) return null;
  const place = `[data-row="${Number(at.row) + step[0]}"][data-column="${Number(at.column) + step[1]}"]`;
  /** @type {HTMLElement | null} */
  const to = /** @type {HTMLElement} */ (event.currentTarget).querySelector(place);
  // At the edge the page must not scroll away; in a text the caret may still move.
  if (to || tagName !== "INPUT") event.preventDefault();
  return to;
}

/**
 * Tables of weights side by side, as a drawing that stands alone.
 * @param {{ title?: string, names: string[], cells: { text: string, weight: number, closed?: boolean }[][] }[]} blocks
 */
export function picture(blocks) {
  const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, anchor = "middle") =>
    s("text", { x, y, "text-anchor": anchor, "font-size": 14, fill: "var(--fig-ink)" }, words);
  const widest = 9 * Math.max(...blocks.flatMap(({ names }) => names.map((name) => name.length)));
  const [wide, tall, left, top] = [Math.max(60, widest + 12), 36, widest + 20, 56];
  const total = left + 10 + wide * blocks[0].names.length;
  const drawn = blocks.map(({ title = "", names, cells }, b) =>
    s(
      "g",
      { transform: `translate(${b * total} 0)` },
      text(left, 18, title, "start"),
      ...names.flatMap((name, i) => [text(left - 8, top + 23 + i * tall, name, "end"), text(left + (i + 0.5) * wide, top - 10, name)]),
      ...cells.flatMap((line, i) =>
        line.flatMap(({ text: words, weight, closed }, j) => [
          s("rect", {
            x: left + j * wide, y: top + i * tall, width: wide, height: tall, stroke: "var(--fig-line)",
            fill: `var(--fig-${closed ? "tint" : "query"})`, "fill-opacity": closed ? 1 : (0.52 * weight).toFixed(3),
          }),
          text(left + (j + 0.5) * wide, top + 23 + i * tall, words),
        ]),
      ),
    ),
  );
  return standalone(s("svg", { viewBox: `0 0 ${blocks.length * total} ${top + 10 + tall * blocks[0].names.length}` }, ...drawn));
}
