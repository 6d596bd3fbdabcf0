// Temperature and √d: width, scale and temperature set how far a softmax saturates; slopes say what gradient is left.
//
// For tests (data-part): width, temperature (range inputs), scale (radio group "on" | "off"), draw (button),
// plane (svg), handle (g, role slider; data-which 0..n-1), numbers (table: key, score, weight,
// slope), measures (table: measure, this row, sampled rows), status.
import { labelled, slider, stem, temperatureSlider } from "./ui/controls.js";
import { choices, fmt, h, s, select, shade, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { KEYS, ROWS, WIDTHS, deviation, histogram, measure, median, sample } from "./math/saturation.js";

/** @typedef {ReturnType<typeof measure>} Measured */

const LIMIT = 4; // scaled scores can be dragged from -4 to 4
const CLOSED = 0.01; // of at most 8 keys, one then has more than 0.98; a hundred equal weights are no row of this figure
const CERTAIN = 0.99; // where slopes are left out
const WIDE = 300;
const LEFT = 6;
const BINS = 32;
const [HIST, HIST_HIGH, ZERO, UNIT, FLOOR, HIGH] = [92, 70, 200, 12, 372, 72]; // heights in the drawing
/** @type {[string, "entropy" | "share" | "largest" | "norm" | "left", number][]} words, measure, its largest value */
const MEASURES = [
  ["entropy (nats)", "entropy", Math.log(KEYS)],
  ["entropy / ln n", "share", 1],
  ["largest Jacobian entry", "largest", 0.25],
  ["norm of the Jacobian", "norm", 0.5],
  ["left of a gradient of 1", "left", 0.5 / Math.SQRT2],
];

/**
 * Four decimals, or a power of ten when they would hide the number.
 * @param {number} x
 */
const small = (x) => (x === 0 ? "0" : x >= 0.001 ? x.toFixed(4) : x.toExponential(1));

export default figure({
  name: "saturation",
  title: "Temperature and √d",
  keys: ["scores", "names", "d_k", "temperature", "scaled", "seed", "slopes"],
  setup({ model, body, say, set, signal }) {
    /** @type {{ seed: number, scores: number[][][] } | undefined} */
    let drawn;
    const sampled = (/** @type {number} */ seed) => {
      if (drawn?.seed !== seed) drawn = { seed, scores: sample(seed) };
      return drawn.scores;
    };
    const width = slider({
      part: "width",
      label: "Width d_k",
      limits: { min: 0, max: WIDTHS.length - 1, step: 1 },
      onInput: (place) => set({ d_k: WIDTHS[place] }),
    });
    const temperature = temperatureSlider((to) => set({ temperature: to }));
    const scale = choices({
      label: "Divide by the root of d_k",
      part: "scale",
      value: "on",
      options: [
        { value: "on", text: "yes" },
        { value: "off", text: "no" },
      ],
      onChange: (on) => set({ scaled: on === "on" }),
    });
    const draw = h("button", { type: "button", "data-part": "draw", on: { click: () => set({ seed: model.get("seed") + 1, scores: [] }) } }, "New samples");
    const plane = s("svg", {
      viewBox: `0 0 ${WIDE} ${FLOOR + 22}`,
      role: "group",
      "aria-label": "Sampled scores, and below them the row of scores with its weights; each score can be dragged, or moved with the arrow keys",
      "data-part": "plane",
      style: "flex: 1 1 17rem; min-width: 0; width: 100%; max-width: 26rem; height: auto; display: block",
    });
    const [measures, numbers] = ["Measures of this row and of the sampled rows", "The row of scores"].map(strip);
    body.append(
      width.row,
      temperature.row,
      labelled("Divide by √d", scale, draw),
      h(
        "div",
        { style: "display: flex; flex-wrap: wrap; gap: 0 1.6rem; align-items: flex-start; margin-top: .8rem" },
        plane,
        h("div", { style: "flex: 1 1 17rem; min-width: 0" }, measures, numbers),
      ),
    );
    const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": 11, fill: "var(--fig-ink)", ...props }, words);
    const bars = s("g", {});
    const weights = s("g", {});
    const found = text({ x: LEFT, y: 12 });
    /** @type {ReturnType<typeof stem>[]} */
    let stems = [];
    const withSlopes = () => model.get("slopes") !== false; // figures stored before there was a choice show them

    const column = () => (WIDE - 2 * LEFT) / model.get("names").length;
    const centre = (/** @type {number} */ i) => LEFT + (i + 0.5) * column();
    const clamp = (/** @type {number} */ x) => Math.round(Math.min(Math.max(x, -LIMIT), LIMIT) * 100) / 100;

    /** Scaled scores of the row, q·k/√d_k. */
    function scaledRow() {
      if (model.get("scores").length) return /** @type {number[]} */ (model.get("scores"));
      const root = Math.sqrt(model.get("d_k"));
      return sampled(model.get("seed"))[WIDTHS.indexOf(model.get("d_k"))][0].slice(0, model.get("names").length).map((x) => x / root);
    }

    function build() {
      const names = /** @type {string[]} */ (model.get("names"));
      stems = names.map((name, i) =>
        stem(
          {
            plane, signal, which: i, label: `score of key ${name}`, x: centre(i), wide: column(), zero: ZERO, unit: UNIT, limit: LIMIT,
            get: () => scaledRow()[i],
            move: (to) => set({ scores: scaledRow().map((x, j) => (j === i ? to : clamp(x))) }),
          },
          text({ "text-anchor": "middle" }),
        ),
      );
      const line = (/** @type {number} */ y) => s("path", { d: `M ${LEFT} ${y} H ${WIDE - LEFT}`, stroke: "var(--fig-line)" });
      const short = (/** @type {string} */ word) => (word.length * 6 > column() ? `${word.slice(0, Math.floor(column() / 6) - 1)}…` : word);
      plane.replaceChildren(
        bars, found, line(HIST), line(ZERO), text({ x: LEFT, y: ZERO - LIMIT * UNIT - 25 }, "this row’s scores (drag them)"),
        ...stems.map(({ g }) => g), line(FLOOR), weights,
        ...names.map((word, i) => text({ x: centre(i), y: FLOOR + 14, "text-anchor": "middle" }, short(word))),
      );
    }

    function read() {
      const [names, scores, d_k, seed] = ["names", "scores", "d_k", "seed"].map((key) => model.get(key));
      const T = Number(model.get("temperature"));
      if (!Array.isArray(names) || names.length < 2 || names.length > KEYS) throw new Error(`names must be 2 to ${KEYS} names.`);
      const good = (/** @type {any} */ x) => Number.isFinite(x) && Math.abs(x) <= LIMIT;
      if (!Array.isArray(scores) || (scores.length && scores.length !== names.length) || !scores.every(good)) {
        throw new Error(`scores must be numbers between -${LIMIT} and ${LIMIT}, one for each name, or none.`);
      }
      if (!WIDTHS.includes(d_k)) throw new Error(`d_k must be a power of two from 1 to 1024, got ${d_k}.`);
      if (!(T > 0)) throw new Error(`temperature must be positive, got ${model.get("temperature")}.`);
      if (!Number.isInteger(seed) || seed < 0) throw new Error(`seed must be a whole number, 0 or larger, got ${seed}.`);
      const scaled = Boolean(model.get("scaled"));
      const factor = scaled ? 1 / Math.sqrt(d_k) : 1;
      const samples = sampled(seed)[WIDTHS.indexOf(d_k)].map((row) => row.map((x) => x * factor));
      const row = scaledRow().map((x) => (scaled ? x : x * Math.sqrt(d_k)));
      const ours = measure(row.map((x) => x / T));
      const theirs = samples.map((sampledRow) => measure(sampledRow.slice(0, names.length).map((x) => x / T)));
      return { names, d_k, T, scaled, samples, row, ours, theirs };
    }

    /**
     * The histogram of all sampled scores, with a standard normal curve to compare and the row's scores below.
     * @param {number[]} all
     * @param {number[]} row
     * @param {number} predicted
     */
    function drawHistogram(all, row, predicted) {
      const reach = 4 * predicted;
      const x = (/** @type {number} */ at) => LEFT + ((Math.min(Math.max(at, -reach), reach) + reach) / (2 * reach)) * (WIDE - 2 * LEFT);
      const counts = histogram(all, reach, BINS);
      // A bin is σ/4 wide: of N(0, σ²), a share of 0.0997 falls into the middle one, and that is two thirds of the height.
      const high = (/** @type {number} */ density) => Math.min(((density * predicted) / 0.4) * 0.72 * HIST_HIGH, HIST_HIGH);
      const step = (2 * reach) / BINS;
      const curve = (/** @type {number} */ sigma) =>
        Array.from({ length: 193 }, (_, i) => {
          const at = -reach + (i / 192) * 2 * reach;
          const y = HIST - high(Math.exp(-((at / sigma) ** 2) / 2) / (sigma * Math.sqrt(2 * Math.PI)));
          return `${i ? "L" : "M"} ${x(at).toFixed(1)} ${y.toFixed(1)}`;
        }).join(" ");
      bars.replaceChildren(
        ...counts.map((count, i) => {
          const tall = high(count / all.length / step);
          return s("rect", { x: x(-reach + i * step) + 0.5, y: HIST - tall, width: (WIDE - 2 * LEFT) / BINS - 1, height: tall, fill: "var(--fig-key)", "fill-opacity": 0.45 });
        }),
        s("path", { d: curve(1), fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.2, "stroke-dasharray": "4 3" }),
        ...row.map((at) => s("path", { d: `M ${x(at)} ${HIST + 1} l 4 7 h -8 Z`, fill: "var(--fig-key)" })),
        ...[-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75].map((part) => text({ x: x(part * reach), y: HIST + 20, "text-anchor": "middle" }, fmt(part * reach, Number.isInteger(part * reach) ? 0 : 1))),
      );
      found.textContent = `${all.length} sampled scores: spread ${fmt(deviation(all))}, dashed: spread 1`;
    }

    /** @param {Measured} ours */
    function drawWeights(ours) {
      const wide = Math.min(column() / 3, 16);
      const slopes = withSlopes();
      weights.replaceChildren(
        s("rect", { x: LEFT, y: FLOOR - HIGH - 26, width: 9, height: 9, fill: "var(--fig-query)" }),
        text({ x: LEFT + 13, y: FLOOR - HIGH - 18 }, "weight p"),
        ...ours.weights.flatMap((p, i) => [
          s("rect", { x: centre(i) - (slopes ? wide : wide / 2), y: FLOOR - HIGH * p, width: wide, height: HIGH * p, fill: "var(--fig-query)" }),
          // The number belongs to the weight: beside a slope it ends where the weight's bar does.
          text({ x: centre(i) - (slopes ? 1 : 0), y: FLOOR - HIGH * p - 4, "text-anchor": slopes ? "end" : "middle" }, fmt(p)),
        ]),
      );
      if (!slopes) return;
      weights.append(
        s("rect", { x: LEFT + 74, y: FLOOR - HIGH - 26, width: 9, height: 9, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.4 }),
        text({ x: LEFT + 87, y: FLOOR - HIGH - 18 }, "slope p(1 − p), four times as high"),
        ...ours.slopes.map((slope, i) =>
          s("rect", { x: centre(i) + 1, y: FLOOR - HIGH * 4 * slope, width: wide - 1, height: HIGH * 4 * slope, fill: "none", stroke: "var(--fig-ink)", "stroke-width": slope < 0.002 ? 0 : 1.4 }),
        ),
      );
    }

    function update() {
      const { names, d_k, T, scaled, samples, row, ours, theirs } = read();
      if (stems.length !== names.length) build();
      width.show(WIDTHS.indexOf(d_k), String(d_k));
      temperature.show(T);
      select(scale, scaled ? "on" : "off");
      const all = samples.flat();
      drawHistogram(all, row, scaled ? 1 : Math.sqrt(d_k));
      drawWeights(ours);
      scaledRow().forEach((value, i) => {
        const y = stems[i].show(value, `${fmt(row[i])}, weight ${fmt(ours.weights[i])}`);
        const label = /** @type {Element} */ (stems[i].g.lastElementChild);
        label.setAttribute("y", String(value < 0 ? y + 19 : y - 11));
        label.textContent = fmt(row[i], Math.abs(row[i]) < 10 ? 1 : 0);
      });
      const shaded = (/** @type {string} */ words, /** @type {number} */ share) => {
        const cell = h("td", {}, words);
        shade(cell, share);
        return cell;
      };
      const slopes = withSlopes();
      const shown = (/** @type {any[]} */ cells) => (slopes ? cells : cells.slice(0, 3));
      const scores = names.map((/** @type {string} */ word, /** @type {number} */ i) =>
        shown([word, row[i].toFixed(4), shaded(small(ours.weights[i]), ours.weights[i]), small(ours.slopes[i])]),
      );
      numbers.replaceChildren(table("numbers", shown(["key", "score", "weight p", "slope p(1 − p)"]), scores));
      const top = (/** @type {Measured} */ one) => Math.max(...one.weights);
      const reached = (/** @type {Measured} */ one) => (slopes ? one.largest < CLOSED : top(one) >= CERTAIN);
      const closed = theirs.filter(reached).length;
      const both = (/** @type {string} */ words, /** @type {(one: Measured) => number} */ what, /** @type {number} */ most) =>
        [words, ...[what(ours), median(theirs.map(what))].map((x) => shaded(small(x), x / most))];
      measures.replaceChildren(
        table("measures", ["measure", "this row", `median of ${ROWS} rows`], [
          ["spread of the scores", deviation(row).toFixed(4), deviation(all).toFixed(4)],
          ...(slopes ? MEASURES.map(([words, key, most]) => both(words, (one) => one[key], most)) : [both("largest weight", top, 1)]),
          [slopes ? `largest entry < ${CLOSED}` : `largest weight ≥ ${CERTAIN}`, reached(ours) ? "yes" : "no", `${closed} of ${ROWS}`],
        ]),
      );
      const most = ours.weights.indexOf(top(ours));
      if (!slopes) {
        say(`Key ${names[most]} has weight ${fmt(top(ours))}. Of ${ROWS} sampled rows, ${closed} give 99 % or more to one key.`);
        return;
      }
      const state =
        ours.largest < CLOSED ? "saturated, next to no gradient passes" : ours.share > 0.99 ? "nearly uniform" : "open, a gradient passes";
      say(
        `Key ${names[most]} has weight ${fmt(ours.weights[most])}; entropy is ${fmt(100 * ours.share, 0)} % of ln ${names.length}; ` +
          `the largest slope is ${small(ours.largest)}: ${state}. Of ${ROWS} sampled rows, ${closed} are saturated.`,
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { T, d_k, scaled } = read();
      return `import torch

scores = torch.tensor(${JSON.stringify(scaledRow())}, dtype=torch.float64)  # q·k / sqrt(d_k), of ${JSON.stringify(model.get("names"))}
z = scores${scaled ? "" : ` * ${d_k} ** 0.5  # not scaled`}
z = z / ${T}  # the temperature
weights = z.softmax(-1)
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
print("weights", weights.tolist())
print("entropy", torch.special.entr(weights).sum().item(), "largest", jacobian.max().item(), "norm", jacobian.norm().item())
`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
