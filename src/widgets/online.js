// Online softmax: one query's weighted mean, tile by tile, with three running numbers instead of a row of scores.
//
// For tests (data-part): tile, shift, rescale (radio groups), step (range input), plane (svg), handle (g, role slider;
// data-which 0..n-1), numbers (table: tile, keys, largest score, correction, sum, output), memory, status.
import { labelled, slider, stem } from "./ui/controls.js";
import { choices, fmt, h, s, select, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { atOnce, byTiles, held } from "./math/online.js";

const TILES = [1, 2, 3, 4, 6, 12];
const SHIFTS = [0, 80, 1000, 10000, -10000];
const LIMIT = 4; // scores can be dragged from -4 to 4, before the shift
const [WIDE, ZERO, UNIT, FLOOR] = [336, 64, 13, 168];

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
      viewBox: `0 0 ${WIDE} ${FLOOR + 16}`,
      role: "group",
      "aria-label": "The scores of one query, in tiles; each score can be dragged, or moved with the arrow keys",
      "data-part": "plane",
      style: "width: 100%; max-width: 34rem; height: auto; display: block; overflow: visible; margin: .6rem auto 0",
    });
    const numbers = strip("What is held after each tile");
    const memory = h("p", { "data-part": "memory", style: "margin: .6rem 0 0" });
    body.append(
      labelled("Tile size", tiles),
      labelled("Add to every score", shifts),
      labelled("Subtract the largest score so far", rescale),
      seenTiles.row,
      plane,
      numbers,
      memory,
    );
    /** @type {ReturnType<typeof stem>[]} */
    let stems = [];
    const seen = s("g", {});
    const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": Math.min(15, 0.42 * column()), fill: "var(--fig-ink)", ...props }, words);
    const scores = () => /** @type {number[]} */ (model.get("scores"));
    const count = (/** @type {number} */ tile) => Math.ceil(scores().length / tile);
    const column = () => WIDE / scores().length;
    function build() {
      stems = scores().map((_, i) =>
        stem(
          {
            plane, signal, which: i, label: `score of key ${i + 1}`, x: (i + 0.5) * column(), wide: column(), zero: ZERO, unit: UNIT, limit: LIMIT,
            get: () => scores()[i],
            move: (to) => set({ scores: scores().map((x, j) => (j === i ? to : x)) }),
          },
          text({ "text-anchor": "middle", y: FLOOR - 33 }),
          text({ "text-anchor": "middle", y: FLOOR - 10, fill: "var(--fig-value)" }),
        ),
      );
      const line = s("path", { d: `M 0 ${ZERO} H ${WIDE}`, stroke: "var(--fig-line)" });
      plane.replaceChildren(seen, line, ...stems.map(({ g }) => g), text({ x: 0, y: FLOOR + 10, "font-size": 13 }, "scores above, values below (green)"));
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
      if (stems.length !== scores().length) build();
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
            x: from * column() + 1.5, y: 3, width: (to - from) * column() - 3, height: FLOOR - 29, rx: 6,
            fill: t < step ? "var(--fig-query)" : "none", "fill-opacity": t === step - 1 ? 0.28 : 0.1,
            stroke: t === step - 1 ? "var(--fig-query)" : "var(--fig-line)", "stroke-width": t === step - 1 ? 2 : 1,
          }),
        ),
        ...(now && on ? [s("path", { d: `M 0 ${ZERO - UNIT * (now.max - model.get("shift"))} H ${WIDE}`, stroke: "var(--fig-ink)", "stroke-dasharray": "4 3" })] : []),
      );
      stems.forEach(({ g, show }, i) => {
        show(scores()[i], `${fmt(shifted[i])}, value ${fmt(values[i])}`);
        const [score, value] = [...g.children].slice(-2);
        score.textContent = fmt(scores()[i], 1);
        value.textContent = fmt(values[i], Number.isInteger(values[i]) ? 0 : 1);
      });
      numbers.replaceChildren(
        table("numbers", ["tile", "keys", "largest score", "correction", "sum of powers", "weighted sum", "output so far"], [
          ...steps.slice(0, step).map((one, t) => [
            String(t + 1), one.to - one.from > 1 ? `${one.from + 1}–${one.to}` : String(one.to), on ? shown(one.max) : "not kept",
            on ? shown(one.factor) : "none", shown(one.sum), shown(one.total), shown(one.output),
          ]),
          ["all at once", `1–${values.length}`, shown(Math.max(...shifted)), "", "", "", shown(whole)],
        ]),
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
