// The playground's curves, on axes that stay where they are.
import { fmt, s } from "./dom.js";
import { CEILINGS, LAST, view } from "../math/playground.js";

/** @typedef {import("../math/playground.js").Run} Run */
/** @typedef {import("../math/playground.js").Reading} Reading */
/**
 * `low` and `top`: the numbers at the two ends of a logarithmic axis; `more`: the rest of its title, where there is room; `said`: how the newest
 * reading is written above
 * @typedef {{ title: string, more: string, high: number, low: number, top: number, ticks: [number, string][], of: (reading: Reading) => number,
 *   said: (reading: Reading) => string }} Plot
 */

/** Hue, dash and letter tell two runs apart. */
export const LOOKS = [{ role: "query", dash: "none", sign: "━" }, { role: "output", dash: "7 4", sign: "┄" }];
const [LEFT, RIGHT, HEAD, FOOT] = [44, 14, 24, 34];
const STEPS = [0, 10, 100, 1000, 10000];

/** @type {Record<string, Plot>} */
const PLOTS = {
  accuracy: {
    title: "Accuracy", more: ": words tagged right", high: 186, low: 80, top: 0.2,
    // What is drawn is the share that is wrong: on this axis the last per cents are as far apart as the first tens.
    ticks: [50, 75, 90, 95, 99].map((p) => [100 - p, `${p} %`]), of: ({ accuracy }) => 100 - accuracy, said: ({ accuracy }) => `${fmt(accuracy, 1)} %`,
  },
  loss: { title: "Loss", more: ", nats a word", high: 60, low: 0.004, top: 3, ticks: [[0.01, "0.01"], [0.1, "0.1"], [1, "1"]], of: ({ loss }) => loss, said: ({ loss }) => fmt(loss, 3) },
  gradient: {
    title: "Gradient", more: " at the queries, its size", high: 110, low: 1e-7, top: 10,
    ticks: [[1e-6, "10⁻⁶"], [1e-3, "10⁻³"], [1, "1"]], of: ({ gradient }) => gradient, said: ({ gradient }) => power(gradient),
  },
};

/** A number by its order of magnitude. @param {number} x */
function power(x) {
  const n = Math.floor(Math.log10(x));
  return `${(x / 10 ** n).toFixed(0)}·10${[...String(n)].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)] ?? "⁻").join("")}`;
}

/**
 * @param {string} words
 * @param {number} x
 * @param {number} y
 * @param {Record<string, any>} [look]
 */
export const text = (words, x, y, look = {}) => s("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": 13, fill: "var(--fig-quiet)", ...look }, words);

/**
 * Plots below one another, over the same steps.
 * @param {string} part its name for tests
 * @param {string[]} shown which of accuracy, loss and gradient
 * @returns {{ svg: SVGElement, show: (wide: number, runs: Run[], names: string[]) => void }}
 */
export function curves(part, shown) {
  const [still, moving] = [s("g"), s("g")];
  const svg = s("svg", { role: "img", "data-part": part, style: "display: block; width: 100%; height: auto" }, still, moving);
  let drawn = "";
  return {
    svg,
    show(wide, runs, names) {
      // Which line is a run's own is said when it has trained: before, the page asks.
      const floors = runs.filter(({ curve }) => curve.some(({ step }) => step > 0)).map(({ choices }) => /** @type {string} */ (view(choices)));
      const laid = layout(wide, shown);
      const key = `${wide} ${floors}`;
      if (drawn !== key) {
        drawn = key;
        const high = laid[laid.length - 1].bottom + FOOT;
        svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
        still.replaceChildren(...laid.flatMap((plot) => axes(plot, floors)), text("steps of training", wide - RIGHT, high - 3, { "text-anchor": "end" }));
      }
      moving.replaceChildren(...laid.flatMap((plot) => lines(plot, runs, names)));
    },
  };
}

/** Where each plot lies. @param {number} wide @param {string[]} shown */
function layout(wide, shown) {
  let bottom = 0;
  return shown.map((name, i) => {
    const plot = PLOTS[name];
    const top = bottom + HEAD;
    bottom = top + plot.high;
    const across = wide - LEFT - RIGHT;
    return {
      ...plot, name, bottom, across, y: top, last: i === shown.length - 1,
      on: (/** @type {number} */ value) => {
        const share = Math.log(Math.max(value, 1e-12) / plot.low) / Math.log(plot.top / plot.low);
        return top + plot.high * (1 - Math.min(Math.max(share, 0), 1));
      },
      at: (/** @type {number} */ step) => LEFT + (across * Math.log1p(step)) / Math.log1p(LAST),
    };
  });
}

/**
 * What does not move: ticks, and the ceilings.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {string[]} floors the ceilings of the runs
 */
function axes({ name, title, more, y, high, across, bottom, last, ticks, on, at }, floors) {
  const flat = (/** @type {number} */ value, /** @type {Record<string, any>} */ look) => s("path", { d: `M${LEFT} ${on(value).toFixed(1)}h${across}`, fill: "none", stroke: "var(--fig-line)", ...look });
  const dotted = { stroke: "var(--fig-ink)", "stroke-dasharray": "2 3" };
  return [
    text(across < 300 ? title : title + more, 0, y - 9, { fill: "var(--fig-ink)", "font-weight": 600 }),
    ...ticks.flatMap(([value, label]) => [flat(value, { "stroke-opacity": 0.6 }), text(label, LEFT - 5, on(value) + 4, { "text-anchor": "end" })]),
    ...(last ? STEPS.map((step) => text(step >= 1000 ? `${step / 1000},000` : String(step), at(step), bottom + 15, { "text-anchor": "middle" })) : []),
    ...(name === "accuracy"
      ? Object.entries(CEILINGS).flatMap(([seen, { accuracy }]) => {
          const own = floors.includes(seen);
          if (seen === "word and position" && !own) return [];
          return [
            flat(100 - accuracy, { ...dotted, "stroke-width": own ? 2 : 1, "data-ceiling": seen }),
            text(`${seen} ${fmt(accuracy, 1)} %`, LEFT + across, on(100 - accuracy) - 4, { "text-anchor": "end", ...(own ? { fill: "var(--fig-ink)", "font-weight": 700 } : {}) }),
          ];
        })
      : name === "loss"
        ? [...new Set(floors)].sort((a, b) => CEILINGS[b].loss - CEILINGS[a].loss).flatMap((seen, i, all) => {
            const at = on(CEILINGS[seen].loss);
            const close = i > 0 && at - on(CEILINGS[all[i - 1]].loss) < 14;
            return [flat(CEILINGS[seen].loss, dotted), text(`least for ${seen}`, LEFT + across, close ? at + 13 : at - 3, { "text-anchor": "end" })];
          })
        : []),
    s("path", { d: `M${LEFT} ${y}v${high}h${across}`, fill: "none", stroke: "var(--fig-quiet)" }),
  ];
}

/**
 * The curves, and the newest reading at the end of each.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {Run[]} runs
 * @param {string[]} names
 */
function lines({ name, of, said, on, at, across, y: y0 }, runs, names) {
  const drawn = runs.flatMap((run, i) => {
    const points = run.curve.filter((reading) => Number.isFinite(of(reading)) && of(reading) > 0);
    if (!points.length || (name === "gradient" && !run.choices.context.endsWith("attention"))) return [];
    const last = points[points.length - 1];
    return [{ i, last, points, x: at(last.step), y: on(of(last)), label: 0 }];
  });
  // Two names do not stand on one another: the lower one goes down, the upper one up.
  const [upper, lower] = [...drawn].sort((a, b) => a.y - b.y || a.i - b.i);
  const apart = lower ? Math.max(0, 16 - (lower.y - upper.y)) / 2 : 0;
  if (upper) upper.label = upper.y + 4 - apart;
  if (lower) lower.label = lower.y + 4 + apart;
  return drawn.flatMap(({ i, last, points, x, y, label }) => {
    const { role, dash } = LOOKS[i];
    const ink = { fill: `var(--fig-${role})`, "font-weight": 700 };
    return [
      s("path", {
        d: points.map((reading, j) => `${j ? "L" : "M"}${at(reading.step).toFixed(1)} ${on(of(reading)).toFixed(1)}`).join(""),
        fill: "none", stroke: `var(--fig-${role})`, "stroke-width": 2.5, "stroke-dasharray": dash, "stroke-linejoin": "round", "data-curve": names[i],
      }),
      s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 4, fill: `var(--fig-${role})` }),
      text(names[i], x + 7, label, { ...ink, stroke: "var(--fig-paper)", "stroke-width": 3, "paint-order": "stroke" }),
      // Numbers stand still, above, one behind the other.
      text(`${names[i]} ${said(last)}`, LEFT + across - (runs.length - 1 - i) * 78, y0 - 9, { ...ink, "text-anchor": "end" }),
    ];
  });
}
