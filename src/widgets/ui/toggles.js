// A square of cells that are open or closed: painted by click, drag and keys.
import { draggable, first, h } from "./dom.js";
import { neighbour } from "./tables.js";

/**
 * Make the table. Cells are buttons with data-row and data-column; the caller writes what is in them.
 * @param {{ names: string[], caption: string, part: string, signal: AbortSignal, value: (i: number, j: number) => number,
 *   begin: () => void, paint: (i: number, j: number, value: number) => void }} given `begin` comes before each
 *   gesture, `paint` once for each cell that it passes
 * @returns {HTMLTableElement}
 */
export function toggles({ names, caption, part, signal, value, begin, paint }) {
  const cell = (/** @type {number} */ i, /** @type {number} */ j) =>
    h("button", {
      type: "button",
      "data-row": i,
      "data-column": j,
      tabindex: i || j ? -1 : 0,
      on: {
        // A click without a pointer comes from a key or an assistive tool. A mouse paints when it goes down, and
        // a finger where it taps: what it may do next is scroll.
        click: (/** @type {MouseEvent} */ event) => {
          if (event.detail !== 0 && !finger) return;
          begin();
          paint(i, j, 1 - value(i, j));
        },
      },
    });
  const row = (/** @type {string} */ name, /** @type {number} */ i) =>
    h("tr", {}, h("th", { scope: "row" }, name), ...names.map((_, j) => h("td", { class: "attnlab-cell" }, cell(i, j))));
  const table = h(
    "table",
    { "data-part": part, class: "attnlab-paint", on: { keydown: walk, pointerdown: start } },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, h("td", { style: "border: 0" }), ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...names.map(row)),
  );
  let finger = false;
  let brush = 1;
  let [x, y] = [0, 0];
  const paintAlong = (/** @type {PointerEvent} */ event) => {
    // A fast pointer jumps over cells: look at the points between.
    const steps = Math.max(1, Math.ceil(Math.hypot(event.clientX - x, event.clientY - y) / 8));
    for (let k = 1; k <= steps; k++) {
      const under = at(x + ((event.clientX - x) * k) / steps, y + ((event.clientY - y) * k) / steps);
      if (under) paint(...under, brush);
    }
    [x, y] = [event.clientX, event.clientY];
  };
  draggable(table, signal, paintAlong, { area: true });
  return table;

  /** The first cell sets the brush: what was closed opens, and so does all that the drag passes. @param {PointerEvent} event */
  function start(event) {
    finger = event.pointerType === "touch";
    const under = at(event.clientX, event.clientY);
    if (!under || !first(event) || finger) return;
    begin();
    brush = 1 - value(...under);
    [x, y] = [event.clientX, event.clientY];
    paint(...under, brush);
  }

  /**
   * The cell under a point of the page.
   * @param {number} left
   * @param {number} top
   * @returns {[number, number] | null}
   */
  function at(left, top) {
    const root = /** @type {Document | ShadowRoot} */ (table.getRootNode());
    const el = /** @type {HTMLElement | null} */ (root.elementFromPoint(left, top)?.closest("[data-row]") ?? null);
    return el && table.contains(el) ? [Number(el.dataset.row), Number(el.dataset.column)] : null;
  }

  /** Arrow keys go from cell to cell; with Shift they take what a cell holds along. @param {KeyboardEvent} event */
  function walk(event) {
    const to = neighbour(event);
    if (!to) return;
    const here = /** @type {HTMLElement} */ (event.target);
    here.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
    if (!event.shiftKey) return;
    begin();
    paint(Number(to.dataset.row), Number(to.dataset.column), value(Number(here.dataset.row), Number(here.dataset.column)));
  }
}
