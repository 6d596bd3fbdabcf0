// Linear attention against softmax: a line and a blur, and the work of both brackets as areas that one drags.
//
// For tests (data-part): map (radio group), features, sharpness (range inputs), draw (button), plane (svg),
// exact, approximate (g: one path for each level of weight, data-level; its data holds x, y, run in cells),
// scale (g), tick (its texts), square, strip (rects), handle (g, role slider), numbers (table: measure, softmax, linear, mean of all), cost (table:
// computed, multiplications), status.
import css from "./ui/linear.css";
import { grip, slider } from "./ui/controls.js";
import { choices, draggable, fmt, h, onResize, renew, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { inTime } from "./ui/said.js";
import { strip, table } from "./ui/tables.js";
import { TOKENS, WIDTH, compare, cost } from "./math/linear.js";

const FEATURES = Array.from({ length: 10 }, (_, p) => 2 ** p);
const [STEP, LONGEST] = [64, 2048];
const SHARPEST = 3;
const HEAD = 64; // the width of a head in the counts
const LEVELS = 40; // of a weight's root: on one scale for both, from 0 to 1, nobody would see 1/32 beside 1
/** How much ink a level has: small weights, such as 1/64, are seen on dark paper too. @param {number} level */
const ink = (level) => ((level / LEVELS) ** 0.65).toFixed(3);
const TICKS = [0.01, 0.1, 0.5, 1]; // of that scale
const RAMP = Array.from({ length: LEVELS }, (_, level) => ((level + 0.5) / LEVELS) ** 2);
const TOP = 20; // room for a title

/** @param {number} x */
const big = (x) => x.toLocaleString("en");
/** @param {number} x */
const millions = (x) => `${fmt(x / 1e6, x < 1e7 ? 2 : 0)} million`;
const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": 12.5, fill: "var(--fig-ink)", ...props }, words);

/**
 * A table of weights as strokes, one path for each level: cells of one unit.
 * @param {number[][]} weights
 * @param {string} role
 */
function strokes(weights, role) {
  const paths = Array.from({ length: LEVELS + 1 }, () => /** @type {string[]} */ ([]));
  weights.forEach((row, i) => {
    const levels = row.map((w) => Math.round(LEVELS * Math.sqrt(w)));
    for (let j = 0; j < row.length; ) {
      let run = 1;
      while (levels[j + run] === levels[j]) run++;
      paths[levels[j]].push(`M${j} ${i + 0.5}h${run}`);
      j += run;
    }
  });
  return paths.flatMap((parts, level) =>
    level && parts.length ? [s("path", { d: parts.join(""), "data-level": level, stroke: `var(--fig-${role})`, "stroke-opacity": ink(level), "shape-rendering": "crispEdges" })] : [],
  );
}

export default figure({
  name: "linear",
  css,
  title: "Linear attention against softmax",
  keys: ["map", "features", "sharpness", "seed", "length"],
  setup({ model, body, say, set, signal }) {
    const maps = choices({
      label: "Feature map", part: "map", value: "elu",
      options: [{ value: "elu", text: "elu + 1" }, { value: "random", text: "random" }],
      onChange: (map) => set({ map }),
    });
    const draw = h("button", { type: "button", "data-part": "draw", "aria-label": "New features", on: { click: () => set({ seed: model.get("seed") + 1 }) } }, "New");
    const range = (/** @type {string} */ part, /** @type {string} */ label, /** @type {any} */ limits, /** @type {(value: number) => Record<string, any>} */ change) =>
      slider({ part, label, limits, onInput: (value) => set(change(value)) });
    const features = range("features", "Features", { min: 0, max: FEATURES.length - 1, step: 1 }, (p) => ({ features: FEATURES[p] }));
    const sharpness = range("sharpness", "Size of q and k", { min: 0.1, max: SHARPEST, step: 0.1 }, (x) => ({ sharpness: Math.round(x * 10) / 10 }));
    const opened = model.get("sharpness");
    sharpness.row.classList.add("is-asked"); // where the figure begins: what tells the maps apart comes with it
    const plane = s("svg", { role: "group", "data-part": "plane", "aria-label": "Who of 64 tokens looks at whom, with softmax and with features, and the work as areas", style: "display: block; max-width: 100%; overflow: visible" });
    const [numbers, costs] = ["How sharp, and how far off", "Multiplications"].map(strip);
    const named = h("div", { class: "attnlab-row" }, maps, draw);
    maps.style.cssText = "flex-wrap: nowrap; max-width: none";
    for (const { row } of [sharpness, features]) row.style.cssText = 'flex: 1 1 14rem; grid-template: "name input reading" / max-content 1fr auto';
    const beside = (/** @type {Node[]} */ ...parts) => h("div", { style: "display: flex; flex-wrap: wrap; gap: 0 1.5rem" }, ...parts);
    body.append(
      plane,
      beside(sharpness.row, named),
      features.row,
      h("details", {}, h("summary", {}, "The numbers as tables"), numbers, costs),
    );

    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    /** @type {ReturnType<typeof plan> | undefined} */
    let at;
    onResize(body, signal, () => at && at.wide !== room() && update());

    /** Where the areas stand, first and largest, and the two maps: beside them, or below where there is little room. */
    function plan() {
      const wide = room();
      const beside = wide >= 520;
      const gap = beside ? 24 : 12;
      const work = beside ? Math.min(Math.floor((wide - 2 * gap) * 0.38), 340) : Math.min(wide - 90, Math.max(190, Math.floor(0.58 * wide)));
      const side = Math.floor(beside ? (wide - work - 2 * gap) / 2 : (wide - gap) / 2);
      const [left, top] = beside ? [work + gap, TOP] : [0, TOP + work + 32];
      return { wide, beside, work, side, top, lefts: [left, left + side + gap], height: beside ? TOP + work + 38 : top + side + 54 };
    }

    const [exact, approximate, areas] = [s("g", { "data-part": "exact", fill: "none" }), s("g", { "data-part": "approximate", fill: "none" }), s("g", {})];
    const square = s("rect", { "data-part": "square", fill: "var(--fig-query)", "fill-opacity": 0.16, stroke: "var(--fig-query)", "stroke-width": 1.5 });
    const band = s("rect", { "data-part": "strip", fill: "var(--fig-accent)", "fill-opacity": 0.85 });
    const knob = grip(
      { which: "length", limits: [STEP, LONGEST], style: "cursor: nwse-resize" },
      s("rect", { x: -14, y: -14, width: 28, height: 28, fill: "transparent" }),
      s("circle", { r: 7, fill: "var(--fig-query)", stroke: "var(--fig-paper)", "stroke-width": 2 }),
    );
    knob.setAttribute("aria-label", "Tokens: the corner of the square");
    const within = (/** @type {number} */ n) => Math.min(Math.max(Math.round(n / STEP) * STEP, STEP), LONGEST);
    draggable(knob, signal, (event) => {
      if (!at) return;
      const [x, y] = spot(plane, event);
      set({ length: within((Math.max(x, y - TOP) / at.work) * LONGEST) });
    });
    knob.addEventListener("keydown", (event) => {
      const { key } = /** @type {KeyboardEvent} */ (event);
      const by = { ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP, ArrowLeft: -STEP, PageUp: 4 * STEP, PageDown: -4 * STEP, Home: -LONGEST, End: LONGEST }[key];
      if (!by) return;
      event.preventDefault();
      set({ length: within(model.get("length") + by) });
    });

    function read() {
      /** @type {any} */
      const state = Object.fromEntries(["map", "features", "sharpness", "seed", "length"].map((key) => [key, model.get(key)]));
      if (!["elu", "random"].includes(state.map)) throw new Error(`map must be elu or random, got ${state.map}.`);
      if (!FEATURES.includes(state.features)) throw new Error(`features must be a power of two from 1 to 512, got ${state.features}.`);
      if (within(state.length) !== state.length) throw new Error(`length must be a multiple of ${STEP} from ${STEP} to ${LONGEST}, got ${state.length}.`);
      if (!(state.sharpness > 0 && state.sharpness <= SHARPEST)) throw new Error(`sharpness must be above 0 and at most ${SHARPEST}, got ${state.sharpness}.`);
      if (!Number.isInteger(state.seed) || state.seed < 0) throw new Error(`seed must be a whole number, 0 or larger, got ${state.seed}.`);
      return state;
    }

    /** The last comparison: dragging the areas does not compare anew. @type {{ key: string, got: ReturnType<typeof compare> } | undefined} */
    let last;
    /** @param {any} state */
    function compared({ map, features, sharpness, seed }) {
      const key = JSON.stringify([map, features, sharpness, seed]);
      if (last?.key !== key) last = { key, got: compare({ map, features, sharpness, seed }) };
      return last.got;
    }

    const told = inTime(say);

    function update() {
      const state = read();
      const { map, features: count, sharpness: size, length: n } = state;
      const got = compared(state);
      select(maps, map);
      features.show(FEATURES.indexOf(count), String(count));
      sharpness.show(size, fmt(size, 1));
      if (size !== opened) sharpness.row.classList.remove("is-asked");
      features.row.hidden = draw.hidden = map === "elu";
      const m = map === "elu" ? HEAD : count;
      const mean = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0) / TOKENS;
      const largest = [got.exact, got.weights].map((w) => mean(w.map((row) => Math.max(...row))));
      const own = [got.exact, got.weights].map((w) => mean(w.map((row, i) => row[i])));
      const { wide, beside, work, side, top, lefts, height } = (at = plan());
      for (const [key, value] of Object.entries({ viewBox: `0 0 ${wide} ${height}`, width: wide, height })) plane.setAttribute(key, String(value));
      for (const [i, g] of [exact, approximate].entries()) g.setAttribute("transform", `translate(${lefts[i]} ${top}) scale(${side / TOKENS})`);
      renew(exact, ...strokes(got.exact, "query"));
      // Another map is seen to come; what a slider changes follows the hand.
      renew(approximate, s("g", { "data-key": `${map} ${state.seed}` }, ...strokes(got.weights, "accent")));
      const unit = work / LONGEST;
      const box = { x: 0, y: TOP, width: n * unit };
      for (const [rect, tall] of /** @type {[Element, number][]} */ ([[square, n * unit], [band, Math.max(m * unit, 1)]])) {
        for (const [key, value] of Object.entries({ ...box, height: tall })) rect.setAttribute(key, String(value));
      }
      knob.setAttribute("transform", `translate(${n * unit} ${TOP + n * unit})`);
      knob.setAttribute("aria-valuenow", String(n));
      knob.setAttribute("aria-valuetext", `${big(n)} tokens`);
      const frame = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ of) => s("rect", { x, y, width: of, height: of, fill: "none", stroke: "var(--fig-line)" });
      const quiet = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words) => text({ x, y, fill: "var(--fig-quiet)", "font-size": 12 }, words);
      const [from, to] = [lefts[0] + 46, lefts[1] + side - 0.5];
      const scale = (/** @type {number} */ w) => from + (to - from) * Math.sqrt(w);
      // The names of the areas: below the square where there is room, else beside it.
      const legend = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ role, /** @type {number} */ opacity, /** @type {string} */ words) => [
        s("rect", { x, y: y - 9, width: 10, height: 10, fill: `var(--fig-${role})`, "fill-opacity": opacity, stroke: `var(--fig-${role})` }),
        quiet(x + 15, y, words),
      ];
      areas.replaceChildren(
        ...["softmax", map === "elu" ? "elu + 1" : "random"].flatMap((name, i) => [
          text({ x: lefts[i], y: top - 7, fill: `var(--fig-${i ? "accent" : "query"})`, "font-weight": 600 }, `${name}: ${fmt(100 * own[i], 0)} %${beside ? " on itself" : ""}`),
          frame(lefts[i], top, side),
        ]),
        quiet(lefts[0], top + side + 15, `rows look at columns${beside ? "" : "; %: on itself"}`),
        // One scale for both maps, whatever is set.
        quiet(lefts[0], top + side + 32, "weight"),
        ...["query", "accent"].map((role, i) => s("g", { transform: `translate(${from} ${top + side + 23 + 5 * i}) scale(${(to - from) / LEVELS} 5)`, fill: "none", "data-part": "scale" }, ...strokes([RAMP], role))),
        ...TICKS.flatMap((w) => [
          s("path", { d: `M${scale(w)} ${top + side + 23}v14`, stroke: "var(--fig-quiet)" }),
          text({ x: scale(w), y: top + side + 48, fill: "var(--fig-quiet)", "font-size": 12, "text-anchor": w === 1 ? "end" : "middle", "data-part": "tick" }, `${100 * w} %`),
        ]),
        text({ x: 0, y: TOP - 7, "font-weight": 600 }, "multiplications, as areas"),
        frame(0, TOP, work),
        // The way that the corner can go.
        s("path", { d: `M${n * unit} ${TOP + n * unit}L${work} ${TOP + work}`, stroke: "var(--fig-query)", "stroke-opacity": 0.6, "stroke-dasharray": "3 4" }),
        ...(beside
          ? [...legend(0, TOP + work + 15, "query", 0.16, "weights first: n × n"), ...legend(0, TOP + work + 31, "accent", 0.85, `values first: n × ${m}`)]
          : [...legend(work + 10, TOP + 20, "query", 0.16, "weights"), ...legend(work + 10, TOP + 52, "accent", 0.85, "values"), quiet(work + 25, TOP + 34, "first"), quiet(work + 25, TOP + 66, "first")]),
      );
      if (!plane.contains(knob)) plane.replaceChildren(areas, exact, approximate, square, band, knob);
      const counted = cost(n, m, HEAD);
      const one = (1 / TOKENS).toFixed(4);
      numbers.replaceChildren(
        table("numbers", ["mean over the tokens", "softmax", "linear", "mean of all"], [
          ["largest weight", ...largest.map((x) => x.toFixed(4)), one],
          ["weight of the token itself", ...own.map((x) => x.toFixed(4)), one],
          ["error of the output", "0.0000", got.error.toFixed(4), got.errorOfMean.toFixed(4)],
        ]),
      );
      costs.replaceChildren(
        table("cost", ["computed", "multiplications"], [
          ["softmax(Q Kᵀ) V", big(counted.softmax)],
          ["(φ(Q) φ(K)ᵀ) V", big(counted.scoresFirst)],
          ["φ(Q) (φ(K)ᵀ V)", big(counted.valuesFirst)],
        ]),
      );
      told(
        `Largest weight, on the mean: ${fmt(largest[0])} and ${fmt(largest[1])}. ` +
          `Multiplications for ${big(n)} tokens: ${millions(counted.softmax)} and ${millions(counted.valuesFirst)}.`,
        approximate.getAnimations({ subtree: true })[0],
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { map, features: count, sharpness: size, seed } = read();
      return `import torch

from attnbook.widgets.linear import drawn, phi

q, k, v = drawn(${size})  # ${TOKENS} tokens; each looks for itself
fq, fk = (phi(x, ${JSON.stringify(map)}, ${count}, ${seed}) for x in (q, k))
softmax = (q @ k.T / ${WIDTH} ** 0.5).softmax(-1) @ v
scores_first = fq @ fk.T
scores_first = scores_first / scores_first.sum(-1, keepdim=True) @ v
values_first = fq @ (fk.T @ v) / (fq @ fk.sum(0))[:, None]
print("orders", (scores_first - values_first).abs().max().item())
print("error", ((values_first - softmax).norm() / softmax.norm()).item())
`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
