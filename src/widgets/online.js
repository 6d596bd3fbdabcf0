// Online softmax: one query's weighted mean, tile by tile, with three running numbers instead of a row of scores.
//
// For tests (data-part): tile, shift, rescale (radio groups), step (range input), plane (svg), handle (g, role slider;
// data-which 0..n-1), numbers (table: tile, keys, largest score, correction, sum, output), memory, status.
import { choices, draggable, fmt, h, s, select, standalone } from "./ui/dom.js";
import { numberKeys, slider } from "./ui/controls.js";
import { figure } from "./ui/frame.js";
import { atOnce, byTiles, held } from "./math/online.js";

const TILES = [1, 2, 3, 4, 6, 12];
const SHIFTS = [0, 80, 1000, 10000, -10000];
const LIMIT = 4; // scores can be dragged from -4 to 4, before the shift
const STEP = 0.1;
const [WIDE, ZERO, UNIT, FLOOR] = [336, 66, 13, 150]; // FLOOR: where the tiles end

/**
 * A number as the table shows it: powers of ten where four decimals would hide it.
 * @param {number} x
 */
function shown(x) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  return x !== 0 && (Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3) ? x.toExponential(3).replaceAll("-", "−") : fmt(x, 4);
}

export default figure({
  name: "online",
  title: "Online softmax",
  keys: ["scores", "values", "tile", "step", "shift", "rescale"],
  setup({ model, body, say, set, signal }) {
    const pick = (/** @type {string} */ label, /** @type {string} */ part, /** @type {[string, string][]} */ options, /** @type {(value: string) => void} */ onChange) =>
      choices({ label, part, value: options[0][0], options: options.map(([value, text]) => ({ value, text })), onChange });
    const tiles = pick("Tile size", "tile", TILES.map((t) => [String(t), String(t)]), (t) => set({ tile: Number(t), step: count(Number(t)) }));
    const shifts = pick("Added to every score", "shift", SHIFTS.map((x) => [String(x), x ? `${x > 0 ? "+" : "−"}${Math.abs(x)}` : "0"]), (x) => set({ shift: Number(x) }));
    const rescale = pick("Subtract the largest score so far", "rescale", [["on", "yes"], ["off", "no"]], (on) => set({ rescale: on === "on" }));
    const seenTiles = slider({ part: "step", label: "Tiles seen", limits: { min: 0, max: 1, step: 1 }, onInput: (step) => set({ step }) });
    const plane = s("svg", {
      viewBox: `0 0 ${WIDE} ${FLOOR + 44}`,
      role: "group",
      "aria-label": "The scores of one query, in tiles; each score can be dragged, or moved with the arrow keys",
      "data-part": "plane",
      style: "width: 100%; max-width: 34rem; height: auto; display: block; overflow: visible; margin: .6rem auto 0",
    });
    const rows = h("tbody");
    const memory = h("p", { "data-part": "memory", style: "margin: .6rem 0 0" });
    const label = (/** @type {string} */ words) => h("span", { class: "attnlab-label" }, words);
    body.append(
      h("div", { class: "attnlab-row" }, label("Tile size"), tiles),
      h("div", { class: "attnlab-row" }, label("Add to every score"), shifts),
      h("div", { class: "attnlab-row" }, label("Subtract the largest score so far"), rescale),
      seenTiles.row,
      plane,
      h(
        "div",
        { class: "attnlab-scroll attnlab-tight", tabindex: 0, role: "group", "aria-label": "What is held after each tile", style: "margin-top: .8rem" },
        h(
          "table",
          { "data-part": "numbers" },
          h("thead", {}, h("tr", {}, ...["tile", "keys", "largest score", "correction", "sum of powers", "weighted sum", "output so far"].map((t) => h("th", { scope: "col" }, t)))),
          rows,
        ),
      ),
      memory,
    );
    /** @type {SVGElement[]} */
    let handles = [];
    const seen = s("g", {});
    const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": Math.min(16, 0.42 * column()), fill: "var(--fig-ink)", ...props }, words);
    const scores = () => /** @type {number[]} */ (model.get("scores"));
    const count = (/** @type {number} */ tile) => Math.ceil(scores().length / tile);
    const column = () => WIDE / scores().length;
    const clamp = (/** @type {number} */ x) => Math.round(Math.min(Math.max(x, -LIMIT), LIMIT) * 100) / 100;
    const move = (/** @type {number} */ i, /** @type {number} */ to) => set({ scores: scores().map((x, j) => (j === i ? clamp(to) : x)) });

    /** @param {number} i */
    function handle(i) {
      const g = s(
        "g",
        {
          tabindex: 0, role: "slider", "data-part": "handle", "data-which": i, "aria-label": `score of key ${i + 1}`,
          "aria-orientation": "vertical", "aria-valuemin": -LIMIT, "aria-valuemax": LIMIT,
          transform: `translate(${(i + 0.5) * column()} 0)`, style: "cursor: ns-resize; touch-action: none",
        },
        s("rect", { x: -column() / 2, y: ZERO - LIMIT * UNIT - 8, width: column(), height: 2 * LIMIT * UNIT + 16, fill: "transparent" }),
        s("line", { y1: ZERO, stroke: "var(--fig-key)", "stroke-width": 3 }),
        s("circle", { r: 7, fill: "var(--fig-key)" }),
        text({ "text-anchor": "middle", y: FLOOR - 8 }),
        text({ "text-anchor": "middle", y: FLOOR + 17, fill: "var(--fig-value)" }),
      );
      draggable(g, signal, (event) => {
        const box = plane.getBoundingClientRect();
        move(i, (ZERO - ((event.clientY - box.top) / box.width) * WIDE) / UNIT);
      });
      numberKeys(g, { step: STEP, limit: LIMIT, get: () => scores()[i], move: (to) => move(i, to) });
      return g;
    }

    function build() {
      handles = scores().map((_, i) => handle(i));
      const line = s("path", { d: `M 0 ${ZERO} H ${WIDE}`, stroke: "var(--fig-line)" });
      plane.replaceChildren(seen, line, ...handles, text({ x: 2, y: FLOOR + 38, "font-size": 14 }, "scores in the tiles, values below (green)"));
    }

    function read() {
      const [values, tile, shift, step] = ["values", "tile", "shift", "step"].map((key) => model.get(key));
      const good = (/** @type {any} */ list) => Array.isArray(list) && list.length >= 2 && list.length <= 12 && list.every(Number.isFinite);
      if (!good(scores()) || scores().some((x) => Math.abs(x) > LIMIT)) throw new Error(`scores must be 2 to 12 numbers between -${LIMIT} and ${LIMIT}.`);
      if (!good(values) || values.length !== scores().length) throw new Error(`values must be ${scores().length} numbers, one for each score.`);
      if (!TILES.includes(tile)) throw new Error(`tile must be one of ${TILES.join(", ")}, got ${tile}.`);
      if (!SHIFTS.includes(shift)) throw new Error(`shift must be one of ${SHIFTS.join(", ")}, got ${shift}.`);
      if (!Number.isInteger(step) || step < 0) throw new Error(`step must be a whole number, 0 or larger, got ${step}.`);
      const shifted = scores().map((x) => x + shift);
      const steps = byTiles(shifted, values, tile, Boolean(model.get("rescale")));
      return { values, tile, shifted, steps, step: Math.min(step, steps.length), whole: atOnce(shifted, values) };
    }

    function update() {
      const { values, tile, shifted, steps, step, whole } = read();
      if (handles.length !== scores().length) build();
      const on = Boolean(model.get("rescale"));
      select(tiles, String(tile));
      select(shifts, String(model.get("shift")));
      select(rescale, on ? "on" : "off");
      seenTiles.input.max = String(steps.length);
      seenTiles.show(step, `${step} of ${steps.length}`);
      const now = steps[step - 1];
      seen.replaceChildren(
        ...steps.map(({ from, to }, t) =>
          s("rect", {
            x: from * column() + 1.5, y: 3, width: (to - from) * column() - 3, height: FLOOR - 3, rx: 6,
            fill: t < step ? "var(--fig-query)" : "none", "fill-opacity": t === step - 1 ? 0.28 : 0.1,
            stroke: t === step - 1 ? "var(--fig-query)" : "var(--fig-line)", "stroke-width": t === step - 1 ? 2 : 1,
          }),
        ),
        ...(now && on ? [s("path", { d: `M 0 ${ZERO - UNIT * (now.max - model.get("shift"))} H ${WIDE}`, stroke: "var(--fig-ink)", "stroke-dasharray": "4 3" })] : []),
      );
      handles.forEach((g, i) => {
        const [, stem, dot, score, value] = g.children;
        const y = ZERO - UNIT * scores()[i];
        stem.setAttribute("y2", String(y));
        dot.setAttribute("cy", String(y));
        score.textContent = fmt(scores()[i], 1);
        value.textContent = fmt(values[i], Number.isInteger(values[i]) ? 0 : 1);
        g.setAttribute("aria-valuenow", String(scores()[i]));
        g.setAttribute("aria-valuetext", `${fmt(shifted[i])}, value ${fmt(values[i])}`);
      });
      const row = (/** @type {string[]} */ [first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((t) => h("td", {}, t)));
      rows.replaceChildren(
        ...steps.slice(0, step).map((one, t) =>
          row([
            String(t + 1), one.to - one.from > 1 ? `${one.from + 1}–${one.to}` : String(one.to), on ? shown(one.max) : "not kept",
            on ? shown(one.factor) : "none", shown(one.sum), shown(one.total), shown(one.output),
          ]),
        ),
        row(["all at once", `1–${values.length}`, shown(Math.max(...shifted)), "", "", "", shown(whole)]),
      );
      const n = 4096;
      const { whole: all, tiles: few } = held(n, tile);
      memory.textContent =
        `For ${n} queries and keys at once, the matrix of scores holds ${all.toLocaleString("en")} numbers; ` +
        `tiles of ${tile} and three running numbers a query hold ${few.toLocaleString("en")}.`;
      const broken = now && !Number.isFinite(now.output);
      const gap = now ? Math.abs(now.output - whole) : NaN;
      say(
        !now
          ? "No tile seen yet: nothing is held."
          : broken
            ? `After ${step} of ${steps.length} tiles the output is ${shown(now.output)}: the exponentials ${now.sum === 0 ? "underflow to zero" : "overflow"} in single precision.`
            : step < steps.length
              ? `After ${step} of ${steps.length} tiles the output so far is ${fmt(now.output, 4)}; it will be ${fmt(whole, 4)}.`
              : `After all ${steps.length} tiles the output is ${fmt(now.output, 4)}; all at once gives ${fmt(whole, 4)}. They differ by ${gap < 1e-12 ? "less than 1e-12" : gap.toExponential(0)}.`,
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { values, tile, shifted } = read();
      const on = Boolean(model.get("rescale"));
      return `import math

import torch

scores = torch.tensor(${JSON.stringify(shifted)}, dtype=torch.${on ? "float64" : "float32"})
values = torch.tensor(${JSON.stringify(values)}, dtype=scores.dtype)
largest, total, powers = ${on ? "-math.inf" : "0.0"}, 0.0, 0.0
for s, v in zip(scores.split(${tile}), values.split(${tile})):
    new = ${on ? "max(largest, s.max().item())" : "0.0  # the largest score is not subtracted"}
    correction, e = math.exp(largest - new), (s - new).exp()
    total, powers = total * correction + e @ v, powers * correction + e.sum()
    largest = new
    print("output so far", (total / powers).item())
print("all at once", (scores.double().softmax(-1) @ values.double()).item())
`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
