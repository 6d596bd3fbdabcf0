// The drawings of the playground: curves of training on axes that stay where they are, and what each head looks at.
import { fmt, s } from "./dom.js";
import { CEILINGS, LAST, view } from "../math/playground.js";
import { LONGEST } from "../math/grammar.js";

/** @typedef {import("../math/playground.js").Run} Run */
/** @typedef {import("../math/playground.js").Reading} Reading */
/** @typedef {{ title: string, x: number, y: number, wide: number, high: number, low: number, top: number, ticks: [number, string][], of: (reading: Reading) => number }} Plot
 *  `low` and `top`: the numbers at its two ends, on a logarithmic axis */

/** Hue, dash and letter tell two runs apart. */
export const LOOKS = [{ role: "query", dash: "none" }, { role: "output", dash: "7 4" }];
const LEFT = 46;
const RIGHT = 22;
const STEPS = [0, 10, 100, 1000, 10000];

/**
 * @param {string | Node} words
 * @param {number} x
 * @param {number} y
 * @param {Record<string, any>} [look]
 */
const text = (words, x, y, look = {}) => s("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": 13, fill: "var(--fig-quiet)", ...look }, words);

/**
 * All curves: accuracy, and below it the loss and the gradient at the queries.
 * @param {{ wide: number, runs: Run[], names: string[] }} given
 */
export function drawCurves({ wide, runs, names }) {
  const side = wide >= 520;
  const half = side ? (wide - LEFT - RIGHT - 70) / 2 : wide - LEFT - RIGHT;
  const full = wide - LEFT - RIGHT;
  /** @type {Plot[]} */
  const plots = [
    {
      title: "Accuracy, words tagged right", x: LEFT, y: 36, wide: full, high: 262, low: 80, top: 0.28,
      // What is drawn is the share that is wrong: on this axis the last per cents are as far apart as the first tens.
      ticks: [50, 75, 90, 95, 99].map((p) => [100 - p, `${p} %`]), of: ({ accuracy }) => 100 - accuracy,
    },
    { title: "Loss, nats a word", x: LEFT, y: 360, wide: half, high: 96, low: 0.004, top: 3, ticks: [[0.01, "0.01"], [0.1, "0.1"], [1, "1"]], of: ({ loss }) => loss },
    {
      title: "Gradient at the queries", x: side ? LEFT + half + 70 : LEFT, y: side ? 360 : 516, wide: half, high: 96, low: 1e-7, top: 10,
      ticks: [[1e-6, "10⁻⁶"], [1e-3, "10⁻³"], [1, "1"]], of: ({ gradient }) => gradient,
    },
  ];
  const drawn = plots.flatMap((plot, which) => {
    const on = (/** @type {number} */ value) => {
      const share = Math.log(Math.max(value, 1e-12) / plot.low) / Math.log(plot.top / plot.low);
      return plot.y + plot.high * (1 - Math.min(Math.max(share, 0), 1));
    };
    const at = (/** @type {number} */ step) => plot.x + (plot.wide * Math.log1p(step)) / Math.log1p(LAST);
    const line = (/** @type {number} */ y, /** @type {Record<string, any>} */ look) => s("path", { d: `M${plot.x} ${y.toFixed(1)}h${plot.wide}`, fill: "none", stroke: "var(--fig-line)", ...look });
    // Which line is a run's own is said when it has trained: before, the page asks.
    const begun = runs.filter(({ curve }) => curve.some(({ step }) => step > 0));
    const floors = /** @type {string[]} */ (begun.map(({ choices }) => view(choices)));
    return [
      text(plot.title, wide < 340 ? 0 : plot.x, plot.y - (which ? 9 : 22), { fill: "var(--fig-ink)", "font-weight": 600 }),
      ...plot.ticks.flatMap(([value, label]) => [line(on(value), { "stroke-opacity": 0.6 }), text(label, plot.x - 6, on(value) + 4, { "text-anchor": "end" })]),
      ...STEPS.map((step) => text(step >= 1000 ? `${step / 1000},000` : String(step), at(step), plot.y + plot.high + 15, { "text-anchor": "middle" })),
      ...(which === 0
        ? Object.entries(CEILINGS).flatMap(([name, { accuracy }]) => {
            if (name === "word and position" && !floors.includes(name)) return [];
            const own = floors.includes(name);
            return [
              line(on(100 - accuracy), { stroke: "var(--fig-ink)", "stroke-dasharray": "2 3", "stroke-width": own ? 2 : 1, "data-ceiling": name }),
              text(`${name} ${fmt(accuracy, 1)} %`, plot.x + 4, on(100 - accuracy) - 4, own ? { fill: "var(--fig-ink)", "font-weight": 700 } : {}),
            ];
          })
        : which === 1
          ? [...new Set(floors)].flatMap((name) => [
              line(on(CEILINGS[name].loss), { stroke: "var(--fig-ink)", "stroke-dasharray": "2 3" }),
              text(name, plot.x + 4, on(CEILINGS[name].loss) - 3),
            ])
          : []),
      s("path", { d: `M${plot.x} ${plot.y}v${plot.high}h${plot.wide}`, fill: "none", stroke: "var(--fig-quiet)" }),
      ...runs.flatMap((run, i) => {
        const points = run.curve.filter((reading) => Number.isFinite(plot.of(reading)) && plot.of(reading) > 0);
        if (!points.length || (which === 2 && !run.choices.context.endsWith("attention"))) return [];
        const last = points[points.length - 1];
        const place = /** @type {const} */ ([at(last.step), on(plot.of(last))]);
        return [
          s("path", {
            d: points.map((reading, j) => `${j ? "L" : "M"}${at(reading.step).toFixed(1)} ${on(plot.of(reading)).toFixed(1)}`).join(""),
            fill: "none", stroke: `var(--fig-${LOOKS[i].role})`, "stroke-width": 2.5, "stroke-dasharray": LOOKS[i].dash, "stroke-linejoin": "round", "data-curve": names[i],
          }),
          s("circle", { cx: place[0].toFixed(1), cy: place[1].toFixed(1), r: 4, fill: `var(--fig-${LOOKS[i].role})` }),
          text(names[i], place[0] + 7, place[1] + (i ? 14 : -2), { fill: `var(--fig-${LOOKS[i].role})`, "font-weight": 700 }),
        ];
      }),
    ];
  });
  const high = side ? 476 : 632;
  return { drawn: [...drawn, text("steps of training", wide - RIGHT, high + 10, { "text-anchor": "end" })], high: high + 16 };
}

/**
 * What each head of each layer looks at: a square a pair of words, a row for the word that looks.
 * @param {{ wide: number, words: string[], layers: Float64Array[], heads: number, role: string }} given `layers`: as `attend` leaves them
 * @returns {{ svg: SVGElement, show: (layers: Float64Array[]) => void }} `show` gives the squares other weights
 */
export function drawHeads({ wide, words, layers, heads, role }) {
  const n = words.length;
  const [label, top] = [46, 58];
  const cell = Math.max(14, Math.min(30, (Math.min(wide, 230) - label - 14) / n));
  const [panel, high] = [label + n * cell + 14, top + n * cell + 10];
  const across = Math.max(1, Math.min(Math.floor(wide / panel), heads * layers.length));
  /** @type {SVGElement[][]} */
  const squares = [];
  const drawn = layers.flatMap((_, layer) =>
    Array.from({ length: heads }, (_, head) => {
      const which = squares.push([]) - 1;
      const name = layers.length > 1 ? `layer ${layer + 1}, head ${head + 1}` : `head ${head + 1}`;
      return s(
        "g",
        { transform: `translate(${((which % across) * panel).toFixed(1)} ${Math.floor(which / across) * high})` },
        text(name, label, 12, { fill: "var(--fig-ink)", "font-weight": 600 }),
        ...words.flatMap((word, i) => [
          text(word, label - 5, top + (i + 0.5) * cell + 4, { "text-anchor": "end", "font-size": 12 }),
          text(word, 0, 0, { transform: `translate(${(label + (i + 0.5) * cell + 3).toFixed(1)} ${top - 5}) rotate(-50)`, "font-size": 12 }),
        ]),
        ...words.flatMap((_, i) =>
          words.map((_, j) => {
            const square = s("rect", { x: (label + j * cell).toFixed(1), y: (top + i * cell).toFixed(1), width: cell.toFixed(1), height: cell.toFixed(1), stroke: "var(--fig-line)", fill: `var(--fig-${role})`, "fill-opacity": 0 });
            squares[which].push(square);
            return square;
          }),
        ),
      );
    }),
  );
  const svg = s("svg", { viewBox: `0 0 ${(across * panel).toFixed(1)} ${Math.ceil(squares.length / across) * high}`, width: (across * panel).toFixed(1), role: "img", style: "max-width: 100%; height: auto; display: block" }, ...drawn);
  return {
    svg,
    show: (now) => now.forEach((weights, layer) => eachWeight(weights, n, heads, (weight, i, head, j) => squares[layer * heads + head][i * n + j].setAttribute("fill-opacity", weight.toFixed(3)))),
  };
}

/**
 * @param {Float64Array} weights
 * @param {number} n
 * @param {number} heads
 * @param {(weight: number, i: number, head: number, j: number) => void} visit
 */
export function eachWeight(weights, n, heads, visit) {
  for (let i = 0; i < n; i++) for (let head = 0; head < heads; head++) for (let j = 0; j < n; j++) visit(weights[(i * heads + head) * LONGEST + j], i, head, j);
}
