// Temperature and √d on one fixed axis of scores: they fly apart, one weight swallows the rest, the slopes go.
//
// For tests (data-part): width, temperature (range inputs), scale (radio group "on" | "off"), draw (button),
// plane (svg), cloud (path: a dot for each sampled score), beyond (texts), handle (g, role slider; data-which 0..n-1),
// weight, slope (rects, data-which), numbers (table: key, score, weight, slope), measures (table: measure, this row,
// sampled rows), status.
import { grip, keyed, labelled, slider, temperatureSlider } from "./ui/controls.js";
import { calm, choices, draggable, fmt, h, onResize, s, select, shade, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { softmax } from "./math/attention.js";
import { KEYS, ROWS, WIDTHS, deviation, measure, median, sample } from "./math/saturation.js";

/** @typedef {ReturnType<typeof measure>} Measured */

const LIMIT = 4; // scaled scores can be moved from -4 to 4
const CLOSED = 0.01; // of at most 8 keys, one then has more than 0.98; a hundred equal weights are no row of this figure
const CERTAIN = 0.99; // where slopes are left out
const REACH = 20; // the axis goes from -20 to 20 and stays: a gap of so many pixels is the same odds everywhere
const STEEPEST = 0.25;
const [HEAD, AXIS, BAR] = [18, 20, 11]; // heights in the drawing
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
const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": 12, fill: "var(--fig-ink)", ...props }, words);
const box = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height, /** @type {any} */ props) =>
  s("rect", { x, y, width: Math.max(width, 0), height: Math.max(height, 0), ...props });
/** A path of dots or of dashes, one element for hundreds. @param {string} d @param {any} props */
const strokes = (d, props) => s("path", { d, fill: "none", ...props });
const TRACK = { fill: "var(--fig-tint)", stroke: "var(--fig-line)", "stroke-width": 0.5 };

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
      role: "group",
      "aria-label": "Scores on an axis from −20 to 20, those of sampled queries and below them those of one query, and their weights beside them; each score of the one query can be dragged, or moved with the arrow keys",
      "data-part": "plane",
      style: "display: block; max-width: 100%",
    });
    const [measures, numbers] = ["Measures of this row and of the sampled rows", "The row of scores"].map(strip);
    for (const { row } of [width, temperature]) row.style.cssText = 'flex: 1 1 14rem; grid-template: "name input reading" / max-content 1fr auto';
    const divide = labelled("Divide by √d", scale);
    scale.style.cssText = "flex-wrap: nowrap; max-width: none";
    /** @param {...Node} parts */
    const beside = (...parts) => h("div", { style: "display: flex; flex-wrap: wrap; gap: 0 1.5rem" }, ...parts);
    body.append(
      plane,
      beside(width.row, divide),
      beside(temperature.row, h("div", { class: "attnlab-row" }, draw)),
      h("details", {}, h("summary", {}, "The numbers as tables"), numbers, measures),
    );

    /** @type {ReturnType<typeof plan>} */
    let at;
    /** @type {ReturnType<typeof lane>[]} */
    let lanes = [];
    const cloud = s("g", {});
    const bars = s("g", {});
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    onResize(body, signal, () => at && at.wide !== room() && update());

    const names = () => /** @type {string[]} */ (model.get("names"));
    const withSlopes = () => model.get("slopes") !== false; // figures stored before there was a choice show them
    const clamp = (/** @type {number} */ x) => Math.round(Math.min(Math.max(x, -LIMIT), LIMIT) * 100) / 100;

    /** Scaled scores of the row, q·k/√d_k. */
    function scaledRow() {
      if (model.get("scores").length) return /** @type {number[]} */ (model.get("scores"));
      const root = Math.sqrt(model.get("d_k"));
      return sampled(model.get("seed"))[WIDTHS.indexOf(model.get("d_k"))][0].slice(0, names().length).map((x) => x / root);
    }

    /** What the softmax gets of a scaled score of 1. */
    const factor = () => (model.get("scaled") ? 1 : Math.sqrt(model.get("d_k"))) / Number(model.get("temperature"));

    /** Where everything stands: scores, weights and slopes side by side, or below one another where there is little room. */
    function plan() {
      const wide = room();
      const slopes = withSlopes();
      const beside = wide >= 480 || !slopes;
      const left = 10 + 7 * Math.min(Math.max(...names().map((word) => word.length)), 6);
      const [number, gap] = [40, beside ? 12 : 6];
      const parts = slopes ? [0.6, 0.4] : [1];
      const given = beside ? (slopes ? 0.3 : 0.24) * wide : wide - left - parts.length * number - gap;
      const right = beside ? wide - given - parts.length * (number + gap) : wide - 8;
      let x = beside ? right + gap : left;
      const columns = parts.map((part) => {
        const [from, across] = [x, part * given];
        x += across + number + gap;
        return { from, across };
      });
      const high = ROWS; // a pixel for each sampled query
      const axis = HEAD + high;
      const strip = axis + AXIS + (beside ? 0 : HEAD); // where the strips of the sampled rows are, if below
      const first = strip + (beside ? 2 : 28 + HEAD);
      const each = names().length > 5 ? 21 : 26; // for a score
      const tall = beside ? each : each + BAR + 3;
      const height = first + names().length * tall + 2;
      // Where the axis goes on below: past all scores, or, where weights stand between them, past each, and through no number.
      const lanes = beside ? [[first, height - 2 - first]] : names().map((_, i) => [first + i * tall, each - 2]);
      return { wide, beside, left, right, columns, high, axis, strip, each, tall, first, height, lanes, middle: (left + right) / 2, unit: (right - left - 8) / (2 * REACH) };
    }
    const place = (/** @type {number} */ z) => at.middle + at.unit * Math.min(Math.max(z, -REACH), REACH);
    const middle = (/** @type {number} */ i) => at.first + i * at.tall + at.each / 2;
    const barTop = (/** @type {number} */ i) => at.first + i * at.tall + (at.beside ? (at.each - BAR) / 2 : at.each);

    /** A score on a line of its own, to be dragged along the axis. @param {string} name @param {number} i */
    function lane(name, i) {
      const mark = s("path", { fill: "var(--fig-ink)" });
      const reading = text({ y: 4, stroke: "var(--fig-paper)", "stroke-width": 4, "paint-order": "stroke" });
      const from = strokes("", { stroke: "var(--fig-ink)", "stroke-width": 2, "stroke-opacity": 0.5 });
      const target = box(-18, -12, 36, 24, { fill: "transparent" });
      const g = grip({ which: i, limits: [-LIMIT, LIMIT], style: "cursor: ew-resize" }, target, from, mark, reading);
      g.setAttribute("aria-label", `score of key ${name}`);
      const to = (/** @type {number} */ value) => set({ scores: scaledRow().map((x, j) => clamp(j === i ? value : x)) });
      draggable(g, signal, (event) => to((spot(plane, event)[0] - at.middle) / at.unit / factor()));
      keyed(g, (by) => to(scaledRow()[i] + by));
      return {
        g,
        show(/** @type {number} */ z, /** @type {number} */ score, /** @type {number} */ p) {
          const beyond = Math.abs(z) > REACH;
          const side = z < 0 ? -1 : 1;
          // The number stands outside; where there is no room for it, inside and on its line.
          const where = Math.abs(place(z) + 52 * side - at.middle) > (at.right - at.left) / 2 + 6 ? -side : side;
          g.setAttribute("transform", `translate(${place(z).toFixed(2)} ${middle(i)})`);
          from.setAttribute("d", `M ${(at.middle - place(z)).toFixed(2)} 0 H 0`);
          mark.setAttribute("d", beyond ? `M ${7 * side} 0 L ${-5 * side} -7 V 7 Z` : "M -7.5 0 a 7.5 7.5 0 1 0 15 0 a 7.5 7.5 0 1 0 -15 0");
          reading.setAttribute("x", String(where * 13));
          reading.setAttribute("text-anchor", where > 0 ? "start" : "end");
          reading.textContent = fmt(z, Math.abs(z) < 100 ? 1 : 0);
          g.setAttribute("aria-valuenow", String(clamp(scaledRow()[i])));
          g.setAttribute("aria-valuetext", `${fmt(score)}, weight ${fmt(p)}`);
        },
      };
    }

    /** What stays while numbers change: lines, names, tracks of full length. */
    function build() {
      at = plan();
      plane.setAttribute("viewBox", `0 0 ${at.wide} ${at.height}`);
      plane.setAttribute("width", String(at.wide));
      plane.setAttribute("height", String(at.height));
      const kept = names().map((_, i) => lanes[i]?.g);
      lanes = names().map((name, i) => (kept[i] && lanes[i].g.getAttribute("aria-label") === `score of key ${name}` ? lanes[i] : lane(name, i)));
      const ticks = [-20, -10, 0, 10, 20];
      const quiet = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, anchor = "start") => text({ x, y, fill: "var(--fig-quiet)", "text-anchor": anchor }, words);
      const heads = [["largest weight", "weight p"], ["largest slope", "slope p(1 − p)"]];
      const short = (/** @type {string} */ word) => (word.length > 6 ? `${word.slice(0, 5)}…` : word);
      plane.replaceChildren(
        strokes(ticks.map((z) => `M ${place(z)} ${HEAD} v ${at.high}${at.lanes.map(([y, high]) => `M ${place(z)} ${y} v ${high}`).join("")}`).join(""), { "data-part": "ticks", stroke: "var(--fig-line)" }),
        ...at.columns.flatMap(({ from, across }, c) => [
          at.beside ? box(from, HEAD, across, at.high, TRACK) : box(from, at.strip, across, 26, TRACK),
          quiet(from, (at.beside ? HEAD : at.strip) - 6, heads[c][0]),
          quiet(from, at.first - 6, heads[c][1]),
          ...names().map((_, i) => box(from, barTop(i), across, BAR, TRACK)),
        ]),
        ...ticks.slice(1).map((z) => quiet(place(z), at.axis + 15, fmt(z, 0), "middle")),
        quiet(0, at.axis + 15, at.right > 300 ? "one query" : ""),
        cloud,
        bars,
        ...names().map((word, i) => text({ x: 0, y: middle(i) + 4 }, short(word))),
        ...lanes.map(({ g }) => g),
      );
    }

    function read() {
      const [scores, d_k, seed] = ["scores", "d_k", "seed"].map((key) => model.get(key));
      const T = Number(model.get("temperature"));
      if (!Array.isArray(names()) || names().length < 2 || names().length > KEYS) throw new Error(`names must be 2 to ${KEYS} names.`);
      const good = (/** @type {any} */ x) => Number.isFinite(x) && Math.abs(x) <= LIMIT;
      if (!Array.isArray(scores) || (scores.length && scores.length !== names().length) || !scores.every(good)) {
        throw new Error(`scores must be numbers between -${LIMIT} and ${LIMIT}, one for each name, or none.`);
      }
      if (!WIDTHS.includes(d_k)) throw new Error(`d_k must be a power of two from 1 to 1024, got ${d_k}.`);
      if (!(T > 0)) throw new Error(`temperature must be positive, got ${model.get("temperature")}.`);
      if (!Number.isInteger(seed) || seed < 0) throw new Error(`seed must be a whole number, 0 or larger, got ${seed}.`);
      const scaled = Boolean(model.get("scaled"));
      const times = scaled ? 1 / Math.sqrt(d_k) : 1;
      const samples = sampled(seed)[WIDTHS.indexOf(d_k)].map((row) => row.slice(0, names().length).map((x) => x * times));
      // By largest weight, so that together they have one edge: it moves as rows become certain.
      const tops = new Map(samples.map((one) => [one, Math.max(...softmax(one.map((x) => x / T)))]));
      samples.sort((a, b) => Number(tops.get(b)) - Number(tops.get(a)));
      const row = scaledRow().map((x) => (scaled ? x : x * Math.sqrt(d_k)));
      return { d_k, T, scaled, samples, row };
    }

    /**
     * Draw it all, with the scores stretched: 1 is how they are, anything else a moment on the way there.
     * @param {ReturnType<typeof read>} now
     * @param {number} stretch
     */
    function paint({ samples, row, T }, stretch) {
      const by = stretch / T;
      const rows = samples.map((one) => one.map((x) => x * by));
      const y = (/** @type {number} */ r) => HEAD + r + 0.5;
      const dots = rows.flatMap((one, r) => one.filter((z) => Math.abs(z) <= REACH).map((z) => `M ${place(z).toFixed(1)} ${y(r)} h 0`));
      const all = rows.flat();
      const gone = all.filter((z) => Math.abs(z) > REACH).length / all.length;
      const spread = deviation(all);
      const said = `spread ${fmt(spread, spread < 10 ? 1 : 0)}${gone ? `, ${fmt(100 * gone, gone < 0.01 ? 1 : 0)} % beyond` : ""}`;
      const theirs = rows.map(measure);
      const of = [(/** @type {Measured} */ one) => Math.max(...one.weights), (/** @type {Measured} */ one) => one.largest / STEEPEST];
      const line = (/** @type {Measured} */ one, /** @type {number} */ r, /** @type {number} */ c) => {
        const { from, across } = at.columns[c];
        const step = across / ROWS;
        return at.beside ? `M ${from} ${y(r)} h ${(of[c](one) * across).toFixed(1)}` : `M ${(from + (r + 0.5) * step).toFixed(2)} ${at.strip + 26} v ${(-26 * of[c](one)).toFixed(1)}`;
      };
      const thin = at.beside ? 0.75 : Math.max((0.75 * at.columns[0].across) / ROWS, 0.8);
      const paints = ["var(--fig-query)", "var(--fig-quiet)"];
      cloud.replaceChildren(
        strokes(dots.join(""), { "data-part": "cloud", stroke: "var(--fig-ink)", "stroke-width": 2.6, "stroke-linecap": "round", "stroke-opacity": 0.75 }),
        ...at.columns.map((_, c) => strokes(theirs.map((one, r) => line(one, r, c)).join(""), { stroke: paints[c], "stroke-width": thin })),
        text({ x: 0, y: HEAD - 6, fill: "var(--fig-quiet)" }, at.right > 300 ? `${ROWS} queries: scores / T, ${said}${gone ? ` ±${REACH}` : ""}` : said),
        strokes(`M ${place(-spread)} ${at.axis + 1} H ${place(spread)}`, { stroke: "var(--fig-ink)", "stroke-width": 2.5 }),
      );
      const ours = measure(row.map((x) => x * by));
      const long = [ours.weights, ours.slopes.map((slope) => slope / STEEPEST)];
      bars.replaceChildren(
        ...at.columns.flatMap(({ from, across }, c) =>
          long[c].flatMap((part, i) => [
            box(from, barTop(i), part * across, BAR, { fill: paints[c], "data-part": c ? "slope" : "weight", "data-which": i }),
            text({ x: from + across + 5, y: barTop(i) + BAR - 1 }, fmt(c ? ours.slopes[i] : part, c ? 3 : 2)),
          ]),
        ),
      );
      lanes.forEach(({ show }, i) => show(row[i] * by, row[i], ours.weights[i]));
    }

    /** @type {boolean | undefined} */
    let before;
    let frame = 0;
    signal.addEventListener("abort", () => cancelAnimationFrame(frame));
    /** Paint what is now; when the division was switched, let the scores travel. @param {ReturnType<typeof read>} now */
    function travel(now) {
      cancelAnimationFrame(frame);
      const still = before === undefined || before === now.scaled || calm();
      before = now.scaled;
      const away = Math.log(now.d_k) * (now.scaled ? 0.5 : -0.5);
      const began = performance.now();
      const go = () => {
        const left = still ? 0 : Math.max(1 - (performance.now() - began) / 600, 0);
        paint(now, Math.exp(away * left ** 2));
        if (left) frame = requestAnimationFrame(go);
      };
      go();
    }

    function update() {
      const now = read();
      const { d_k, T, scaled, samples, row } = now;
      if (!at || at.wide !== room() || lanes.length !== names().length) build();
      width.show(WIDTHS.indexOf(d_k), String(d_k));
      temperature.show(T);
      select(scale, scaled ? "on" : "off");
      travel(now);
      const slopes = withSlopes();
      const ours = measure(row.map((x) => x / T));
      const theirs = samples.map((one) => measure(one.map((x) => x / T)));
      const shaded = (/** @type {string} */ words, /** @type {number} */ share) => {
        const cell = h("td", {}, words);
        shade(cell, share);
        return cell;
      };
      const shown = (/** @type {any[]} */ cells) => (slopes ? cells : cells.slice(0, 3));
      const scores = names().map((word, i) => shown([word, row[i].toFixed(4), shaded(small(ours.weights[i]), ours.weights[i]), small(ours.slopes[i])]));
      numbers.replaceChildren(table("numbers", shown(["key", "score", "weight p", "slope p(1 − p)"]), scores));
      const top = (/** @type {Measured} */ one) => Math.max(...one.weights);
      const reached = (/** @type {Measured} */ one) => (slopes ? one.largest < CLOSED : top(one) >= CERTAIN);
      const closed = theirs.filter(reached).length;
      const both = (/** @type {string} */ words, /** @type {(one: Measured) => number} */ what, /** @type {number} */ most) =>
        [words, ...[what(ours), median(theirs.map(what))].map((x) => shaded(small(x), x / most))];
      measures.replaceChildren(
        table("measures", ["measure", "this row", `median of ${ROWS} rows`], [
          ["spread of the scores", deviation(row).toFixed(4), deviation(samples.flat()).toFixed(4)],
          ...(slopes ? MEASURES.map(([words, key, most]) => both(words, (one) => one[key], most)) : [both("largest weight", top, 1)]),
          [slopes ? `largest entry < ${CLOSED}` : `largest weight ≥ ${CERTAIN}`, reached(ours) ? "yes" : "no", `${closed} of ${ROWS}`],
        ]),
      );
      const most = ours.weights.indexOf(top(ours));
      say(
        `Key ${names()[most]} has weight ${fmt(top(ours))}${slopes ? ` and slope ${small(ours.slopes[most])}` : ""}. ` +
          `Of ${ROWS} sampled queries, ${closed} ${slopes ? `have no slope of ${CLOSED} or more` : "give 99 % or more to one key"}.`,
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { T, d_k, scaled } = read();
      return `import torch

scores = torch.tensor(${JSON.stringify(scaledRow())}, dtype=torch.float64)  # q·k / sqrt(d_k), of ${JSON.stringify(names())}
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
