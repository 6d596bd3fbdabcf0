// The playground's curves, on axes that stay where they are.
import { fmt, halo, s } from "./dom.js";
import { arrange, boxed, sized } from "./labels.js";
import { CEILINGS, LAST, trained, view } from "../math/playground.js";

/** @typedef {import("../math/playground.js").Run} Run */
/** @typedef {import("../math/playground.js").Reading} Reading */
/** @typedef {Pick<Reading, "step" | "accuracy" | "loss" | "gradient">} Point of a curve */
/** @typedef {{ choices: Run["choices"], curve: Point[], name?: string[], was?: string }} Ghost what is left of a run; `name`: what is written at it, its end alone where there is no room;
 *   `was`: which of the page's own it was, and how good */
/**
 * `low` and `top`: the numbers at the two ends of a logarithmic axis; `more`: the rest of its title, where there is room; `said`: how the newest
 * reading is written above
 * @typedef {{ title: string, more: string, high: number, low: number, top: number, ticks: [number, string][], of: (reading: Point) => number,
 *   said: (reading: Point) => string }} Plot
 */

/** Hue, dash and letter tell two runs apart. */
export const LOOKS = [{ role: "query", dash: "none", sign: "━" }, { role: "accent", dash: "7 4", sign: "┄" }];
const [LEFT, RIGHT, HEAD, FOOT] = [44, 14, 22, 34];
/** Where the name of a ceiling stands in the way of no curve: at the left of its line, or below it. One’s own curve comes from below. */
const [STARTS, BELOW] = [["both neighbours", "whole sentence"], "everything before"];
const STEPS = [0, 10, 100, 1000, 10000];
const [NAME, LETTER] = [12.5, 13]; // sizes of fonts
const DOT = 4;
/** Where a name may stand, seen from its line: right above it, right below it, or farther and farther away. */
const AWAY = Array.from({ length: 20 }, (_, k) => [-4 - 2 * k, 13 + 2 * k].map((dy) => ({ dy, cost: 3 * k }))).flat();
/** Where a run's letter may stand, seen from its dot, the best place first: right of it, else as near as can be, and rather not on its own curve. */
const AROUND = Array.from({ length: 60 }, (_, i) => 67 - 4 * i)
  .flatMap((dx) => Array.from({ length: 81 }, (_, k) => ({ dx, dy: 84 - 2 * k })))
  .map(({ dx, dy }) => ({ dx, dy, cost: Math.hypot(dx + 5, dy - 4) + (dx < -7 ? 6 : dx < 7 ? 4 : 0) }))
  .sort((a, b) => a.cost - b.cost);

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
 * @returns {{ svg: SVGElement, show: (wide: number, runs: Run[], names: string[], high?: number, ghosts?: Ghost[], views?: string[]) => void }} `high`:
 *   of a plot, where it is not the usual; `ghosts`: earlier runs, of which a grey curve is left; `views`: whose ceilings are drawn, where not all are
 */
export function curves(part, shown) {
  const [still, past, moving, named, ends] = Array.from({ length: 5 }, () => s("g"));
  const svg = s("svg", { role: "img", "data-part": part, style: "display: block; width: 100%; height: auto" }, still, past, moving, named, ends);
  let drawn = "";
  /** @type {ReturnType<typeof ceilings>[]} */
  let called = [];
  return {
    svg,
    show(wide, runs, names, high, ghosts = [], views) {
      // Which line is a run's own is said when it has trained: before, the page asks.
      const floors = runs.filter(trained).map(({ choices }) => /** @type {string} */ (view(choices)));
      const most = Math.max(...[...runs, ...ghosts].flatMap(({ curve }) => curve.map(({ loss }) => loss)).filter(Number.isFinite), 0);
      const laid = layout(wide, shown, high, most);
      const key = `${wide} ${high} ${floors} ${laid.map(({ top }) => top)}`;
      if (drawn !== key) {
        drawn = key;
        const end = laid[laid.length - 1].bottom + FOOT;
        svg.setAttribute("viewBox", `0 0 ${wide} ${end}`);
        still.replaceChildren(...laid.flatMap((plot) => axes(plot, floors, views)), text("steps of training", wide - RIGHT, end - 3, { "text-anchor": "end" }));
        called = laid.map((plot) => ceilings(plot, floors, views));
        named.replaceChildren(...called.flat().map(({ words, x, y, look }) => text(words, x, y, look)));
      }
      past.replaceChildren(...laid.flatMap((plot) => ghosts.map((run) => ghost(plot, run))), ...laid.filter(({ name }) => name === "accuracy").map((plot) => spoken(plot, ghosts)));
      const drawing = laid.map((plot, i) => lines(plot, runs, names, called[i].map(({ box }) => box)));
      moving.replaceChildren(...drawing.flatMap(({ paths }) => paths));
      ends.replaceChildren(...drawing.flatMap(({ marks }) => marks));
    },
  };
}

/**
 * Where each plot lies.
 * @param {number} wide
 * @param {string[]} shown
 * @param {number} [given] how high
 * @param {number} [most] the largest loss: where the axis ends below it, it goes on to the next power of ten
 */
export function layout(wide, shown, given, most = 0) {
  let bottom = 0;
  return shown.map((name, i) => {
    const plot = { ...PLOTS[name], high: given ?? PLOTS[name].high };
    if (name === "loss" && most > plot.top) {
      plot.top = 10 ** Math.ceil(Math.log10(most));
      plot.ticks = [...plot.ticks, [10, "10"]];
    }
    const top = bottom + HEAD;
    bottom = top + plot.high;
    const across = wide - LEFT - RIGHT;
    return {
      ...plot, name, bottom, across, wide, y: top, last: i === shown.length - 1,
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

/**
 * What does not move: ticks, and the ceilings.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {string[]} floors the ceilings of the runs
 * @param {string[]} [views] those that are drawn
 */
function axes(plot, floors, views) {
  const { name, title, more, y, high, across, bottom, last, ticks, on, at } = plot;
  return [
    text(across < 320 ? title : title + more, 0, y - 8, { fill: "var(--fig-ink)", "font-weight": 600 }),
    ...ticks.flatMap(([value, label]) => [flat(plot, value, { "stroke-opacity": 0.6 }), text(label, LEFT - 5, on(value) + 4, { "text-anchor": "end" })]),
    ...(last ? STEPS.map((step) => text(step >= 1000 ? `${step / 1000},000` : String(step), at(step), bottom + 15, { "text-anchor": "middle" })) : []),
    ...(name === "accuracy"
      ? seen(floors, views).map(([view, { accuracy }]) => flat(plot, 100 - accuracy, { ...DOTTED, "stroke-width": floors.includes(view) ? 2 : 1, "data-ceiling": view }))
      : name === "loss"
        ? [...new Set(floors)].map((view) => flat(plot, CEILINGS[view].loss, DOTTED))
        : []),
    s("path", { d: `M${LEFT} ${y}v${high}h${across}`, fill: "none", stroke: "var(--fig-quiet)" }),
  ];
}

/** The ceilings that are drawn. @param {string[]} floors @param {string[]} [views] */
const seen = (floors, views) => Object.entries(CEILINGS).filter(([view]) => (views ? views.includes(view) : view !== "word and position" || floors.includes(view)));

/**
 * The names of the ceilings, each at its line: one's own first, and none on another.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {string[]} floors the ceilings of the runs
 * @param {string[]} [views] those that are drawn
 */
export function ceilings({ name, across, wide, high, y: top, bottom, on }, floors, views) {
  const wanted = name === "accuracy" ? seen(floors, views).map(([view, { accuracy }]) => {
    const own = floors.includes(view);
    const away = view === BELOW && !own;
    const below = away && high > 180;
    return { words: `${away && !below ? "before" : view} ${fmt(accuracy, 1)} %`, line: on(100 - accuracy), own, below, start: STARTS.includes(view), size: NAME };
  }) : name === "loss" ? [...new Set(floors)].map((view) => (
    { words: `least for ${view}`, line: on(CEILINGS[view].loss), own: false, below: false, start: false, size: LETTER }
  )) : [];
  const places = wanted.map(({ words, line, own, below, start, size }) => [true, false].flatMap((left) => AWAY.map(({ dy, cost }) => {
    const [x, y] = [left ? LEFT + 5 : LEFT + across, line + dy];
    const box = boxed(x, y, sized(words, size, own), !left);
    // Between a name and its line, and below the name, is no other's line, if that can be.
    const crossed = wanted.filter((other) => other.line !== line && other.line > Math.min(box.top, line) && other.line < Math.max(box.bottom, line)).length;
    return { x, y, left, box, cost: cost + 7 * crossed + 4 * Number(left !== start) + Number(dy > 0 !== below) + 20 * Number(box.left < LEFT) };
  })));
  return arrange(places, { left: 0, right: wide, top: top - 4, bottom }).flatMap((place, i) => {
    if (!place) return [];
    const { words, own, size } = wanted[i];
    const look = { ...halo(5), "data-part": "ceiling", "font-size": size, "text-anchor": place.left ? "start" : "end", ...(own ? { fill: "var(--fig-ink)", "font-weight": 700 } : {}) };
    return [{ ...place, words, look }];
  });
}

/**
 * Where the letters of runs stand: right of their dots, unless the name of a ceiling, a dot or another letter is there.
 * @param {{ x: number, y: number }[]} dots
 * @param {string[]} names
 * @param {import("./labels.js").Box[]} taken
 * @param {import("./labels.js").Box} room
 */
export function letters(dots, names, taken, room) {
  const round = dots.map(({ x, y }) => ({ left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT }));
  // Nearly always some of the nearest will do.
  for (const count of [200, 1000, AROUND.length]) {
    const places = dots.map((dot, i) => AROUND.slice(0, count).map(({ dx, dy, cost }) => {
      const [x, y] = [dot.x + dx, dot.y + dy];
      const far = (/** @type {{ x: number, y: number }} */ one) => Math.hypot(x + 5 - one.x, y - 4 - one.y);
      const astray = dots.some((one) => far(one) < far(dot) - 1);
      return { x, y, cost: cost + 15 * Number(astray), box: boxed(x, y, sized(names[i], LETTER, true)) };
    }));
    const found = arrange(places, room, [...taken, ...round]);
    if (found.every((place) => place)) return found;
  }
  return [];
}

/** The readings of a run that a plot can show. @param {ReturnType<typeof layout>[0]} plot @param {Ghost} run */
const readings = ({ name, of }, { curve, choices }) => (name === "gradient" && !choices.context.endsWith("attention") ? [] : curve.filter((reading) => Number.isFinite(of(reading)) && of(reading) > 0));
/** A curve's way. @param {ReturnType<typeof layout>[0]} plot @param {Point[]} points */
const way = ({ of, on, at }, points) => points.map((reading, j) => `${j ? "L" : "M"}${at(reading.step).toFixed(1)} ${on(of(reading)).toFixed(1)}`).join("");
/** What is left of an earlier run. @param {ReturnType<typeof layout>[0]} plot @param {Ghost} run */
const ghost = (plot, run) => s("path", { d: way(plot, readings(plot, run)), fill: "none", stroke: "var(--fig-quiet)", "stroke-opacity": 0.55, "stroke-width": 1.5, "data-part": "ghost" });
/** What they are called stands below them, where no other curve comes. @param {ReturnType<typeof layout>[0]} plot @param {Ghost[]} ghosts */
const spoken = (plot, ghosts) => text(
  ghosts.map(({ name = [], was }) => was ?? name.slice(Number(plot.across < 320)).join("")).join("; "), plot.at(12), plot.on(50) + 3, { ...halo(5), "font-size": NAME, "data-part": "was" },
);

/**
 * The curves, which go behind the names of ceilings, and the newest reading at the end of each.
 * @param {ReturnType<typeof layout>[0]} plot
 * @param {Run[]} runs
 * @param {string[]} names
 * @param {import("./labels.js").Box[]} taken by the names of ceilings
 */
function lines(plot, runs, names, taken) {
  const { of, said, on, at, across, wide, y: top, bottom } = plot;
  const drawn = runs.flatMap((run, i) => {
    const points = readings(plot, run);
    if (!points.length) return [];
    const last = points[points.length - 1];
    return [{ i, last, points, x: at(last.step), y: on(of(last)) }];
  });
  const called = letters(drawn, drawn.map(({ i }) => names[i]), taken, { left: LEFT, right: wide, top: top - 4, bottom });
  const paths = drawn.map(({ i, points }) => s("path", {
    d: way(plot, points), fill: "none", stroke: `var(--fig-${LOOKS[i].role})`, "stroke-width": 2.5, "stroke-dasharray": LOOKS[i].dash, "stroke-linejoin": "round", "data-curve": names[i],
  }));
  const marks = drawn.flatMap(({ i, last, x, y }, j) => {
    const { role } = LOOKS[i];
    const ink = { fill: `var(--fig-${role})`, "font-weight": 700 };
    return [
      s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: DOT, fill: `var(--fig-${role})` }),
      text(names[i], called[j]?.x ?? x + 7, called[j]?.y ?? y + 4, { ...ink, ...halo(3), "data-letter": names[i] }),
      // Numbers stand still, above, one behind the other.
      text(`${names[i]} ${said(last)}`, LEFT + across - (runs.length - 1 - i) * 78, top - 8, { ...ink, "text-anchor": "end" }),
    ];
  });
  return { paths, marks };
}
