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
const [LEFT, RIGHT, HEAD, FOOT] = [44, 14, 22, 34];
/** Where the name of a ceiling stands in the way of no curve: at the left of its line, or below it. One’s own curve comes from below. */
const [STARTS, BELOW] = [["both neighbours", "whole sentence"], "everything before"];
const STEPS = [0, 10, 100, 1000, 10000];

/** @type {Record<string, Plot>} */
const PLOTS = {
  accuracy: {
    title: "Accuracy", more: ": words tagged right", high: 226, low: 80, top: 0.2,
    // What is drawn is the share that is wrong: on this axis the last per cents are as far apart as the first tens.
    ticks: [50, 75, 90, 95, 99].map((p) => [100 - p, `${p} %`]), of: ({ accuracy }) => 100 - accuracy, said: ({ accuracy }) => `${fmt(accuracy, 1)} %`,
  },
  loss: { title: "Loss", more: ", nats a word", high: 90, low: 0.004, top: 3, ticks: [[0.01, "0.01"], [0.1, "0.1"], [1, "1"]], of: ({ loss }) => loss, said: ({ loss }) => fmt(loss, 3) },
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
 * @returns {{ svg: SVGElement, show: (wide: number, runs: Run[], names: string[], high?: number) => void }} `high`: of a plot, where it
 *   is not the usual
 */
export function curves(part, shown) {
  const [still, moving, named] = [s("g"), s("g"), s("g")];
  const svg = s("svg", { role: "img", "data-part": part, style: "display: block; width: 100%; height: auto" }, still, named, moving);
  let drawn = "";
  return {
    svg,
    show(wide, runs, names, high) {
      // Which line is a run's own is said when it has trained: before, the page asks.
      const floors = runs.filter(({ curve }) => curve.some(({ step }) => step > 0)).map(({ choices }) => /** @type {string} */ (view(choices)));
      const laid = layout(wide, shown, high);
      const key = `${wide} ${high} ${floors}`;
      if (drawn !== key) {
        drawn = key;
        const end = laid[laid.length - 1].bottom + FOOT;
        svg.setAttribute("viewBox", `0 0 ${wide} ${end}`);
        still.replaceChildren(...laid.flatMap((plot) => axes(plot, floors)), text("steps of training", wide - RIGHT, end - 3, { "text-anchor": "end" }));
        named.replaceChildren(...laid.flatMap((plot) => ceilings(plot, floors)));
      }
      moving.replaceChildren(...laid.flatMap((plot) => lines(plot, runs, names)));
    },
  };
}

/** Where each plot lies. @param {number} wide @param {string[]} shown @param {number} [given] how high */
function layout(wide, shown, given) {
  let bottom = 0;
  return shown.map((name, i) => {
    const plot = { ...PLOTS[name], high: given ?? PLOTS[name].high };
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

/** A line across. @param {ReturnType<typeof layout>[0]} plot @param {number} value @param {Record<string, any>} look */
const flat = ({ on, across }, value, look) => s("path", { d: `M${LEFT} ${on(value).toFixed(1)}h${across}`, fill: "none", stroke: "var(--fig-line)", ...look });
const DOTTED = { stroke: "var(--fig-ink)", "stroke-dasharray": "2 3" };
/** Written over lines. */
const HALO = { stroke: "var(--fig-paper)", "stroke-width": 3.5, "stroke-linejoin": "round", "paint-order": "stroke" };

/**
 * What does not move: ticks, and the ceilings.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {string[]} floors the ceilings of the runs
 */
function axes(plot, floors) {
  const { name, title, more, y, high, across, bottom, last, ticks, on, at } = plot;
  return [
    text(across < 320 ? title : title + more, 0, y - 8, { fill: "var(--fig-ink)", "font-weight": 600 }),
    ...ticks.flatMap(([value, label]) => [flat(plot, value, { "stroke-opacity": 0.6 }), text(label, LEFT - 5, on(value) + 4, { "text-anchor": "end" })]),
    ...(last ? STEPS.map((step) => text(step >= 1000 ? `${step / 1000},000` : String(step), at(step), bottom + 15, { "text-anchor": "middle" })) : []),
    ...(name === "accuracy"
      ? seen(floors).map(([view, { accuracy }]) => flat(plot, 100 - accuracy, { ...DOTTED, "stroke-width": floors.includes(view) ? 2 : 1, "data-ceiling": view }))
      : name === "loss"
        ? [...new Set(floors)].map((view) => flat(plot, CEILINGS[view].loss, DOTTED))
        : []),
    s("path", { d: `M${LEFT} ${y}v${high}h${across}`, fill: "none", stroke: "var(--fig-quiet)" }),
  ];
}

/** The ceilings that are drawn. @param {string[]} floors */
const seen = (floors) => Object.entries(CEILINGS).filter(([view]) => view !== "word and position" || floors.includes(view));

/**
 * The names of the ceilings.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {string[]} floors the ceilings of the runs
 */
function ceilings({ name, across, high, on }, floors) {
  if (name === "accuracy") {
    return seen(floors).map(([view, { accuracy }]) => {
      const own = floors.includes(view);
      const starts = STARTS.includes(view);
      const away = view === BELOW && !own;
      const below = away && high > 180;
      return text(`${away && !below ? "before" : view} ${fmt(accuracy, 1)} %`, starts ? LEFT + 5 : LEFT + across, on(100 - accuracy) + (below ? 13 : -4), {
        ...HALO, "font-size": 12.5, "text-anchor": starts ? "start" : "end", ...(own ? { fill: "var(--fig-ink)", "font-weight": 700 } : {}),
      });
    });
  }
  if (name !== "loss") return [];
  return [...new Set(floors)].sort((a, b) => CEILINGS[b].loss - CEILINGS[a].loss).map((view, i, all) => {
    const at = on(CEILINGS[view].loss);
    const close = i > 0 && at - on(CEILINGS[all[i - 1]].loss) < 14;
    return text(`least for ${view}`, LEFT + across, close ? at + 13 : at - 3, { ...HALO, "text-anchor": "end" });
  });
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
      text(`${names[i]} ${said(last)}`, LEFT + across - (runs.length - 1 - i) * 78, y0 - 8, { ...ink, "text-anchor": "end" }),
    ];
  });
}
