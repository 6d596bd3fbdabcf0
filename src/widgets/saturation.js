// Temperature and √d on one fixed axis of scores: they fly apart, one weight swallows the rest, the slopes go. On a phone,
// with slopes, it is one query that is seen first, and the sampled ones are in a fold.
//
// For tests (data-part): prompt, width, temperature (range inputs), scale (radio group "on" | "off"), draw (button),
// plane (svg), many (details: the fold), cloud (path: a dot for each sampled score), handle (g, role slider; data-which 0..n-1),
// weight, slope (rects, data-which), numbers (table: key, score, weight, slope), measures (table: measure, this row,
// sampled rows), status.
import asked from "./ui/asked.css";
import { grip, keyed, labelled, slider, temperatureSlider } from "./ui/controls.js";
import { calm, choices, draggable, fmt, h, halo, onResize, s, select, shade, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { softmax } from "./math/attention.js";
import { KEYS, ROWS, WIDTHS, deviation, measure, median, sample } from "./math/saturation.js";

/** @typedef {ReturnType<typeof measure>} Measured */

const LIMIT = 4; // scaled scores can be moved from -4 to 4
const CLOSED = 0.01; // of at most 8 keys, one then has more than 0.98; a hundred equal weights are no row of this figure
const CERTAIN = 0.99; // where slopes are left out
const REACH = 20; // the axis goes from -20 to 20 and stays: a gap of so many pixels is the same odds everywhere
const [LINE, AXIS, BAR] = [18, 20, 11]; // heights in the drawing
// As far as the root of the widest width: what it leaves out or divides by twice, the slider can undo.
const POWERS = { base: 2, reach: 5, step: 0.25 };
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
const box = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height, /** @type {any} */ props) =>
  s("rect", { x, y, width: Math.max(width, 0), height: Math.max(height, 0), ...props });
/** A path of dots or of dashes, one element for hundreds. @param {string} d @param {any} props */
const strokes = (d, props) => s("path", { d, fill: "none", ...props });
/** @type {Record<"slope" | "weight", [number, string]>} the largest that there is */
const MOST = { slope: [0.25, "¼"], weight: [1, "1"] };
const PAINTS = { slope: "var(--fig-quiet)", weight: "var(--fig-query)" };
const TRACK = { fill: "var(--fig-tint)", stroke: "var(--fig-line)", "stroke-width": 0.5 };

export default figure({
  name: "saturation",
  css: asked,
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
    width.row.firstChild?.replaceWith(h("span", { class: "attnlab-label" }, "Width ", h("i", {}, "d"), h("sub", {}, "k")));
    const temperature = temperatureSlider((to) => set({ temperature: to }), POWERS);
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
    const no = scale.children[1];
    no.classList.add("is-asked"); // where a figure begins
    const prompt = h("b", { "data-part": "prompt" });
    const draw = h("button", { type: "button", "data-part": "draw", on: { click: () => set({ seed: model.get("seed") + 1, scores: [] }) } }, "New samples");
    const plane = s("svg", {
      role: "group",
      "aria-label": "Scores on an axis from −20 to 20, those of sampled queries and below them those of one query, and their weights beside them; each score of the one query can be dragged, or moved with the arrow keys",
      "data-part": "plane",
      style: "display: block; max-width: 100%",
    });
    const [measures, numbers] = ["Measures of this row and of the sampled rows", "The row of scores"].map(strip);
    for (const { row } of [width, temperature]) /** @type {HTMLElement} */ (row.firstElementChild).style.minWidth = "0";
    scale.style.cssText = "flex-wrap: nowrap; max-width: none";
    const divide = labelled("Divide by √d", scale, prompt);
    divide.style.marginBottom = "0.5rem";
    const again = h("div", { class: "attnlab-row" }, draw);
    const below = h("div", { style: "display: flex; flex-wrap: wrap; gap: 0 1.5rem" }, width.row, temperature.row);
    const sky = s("svg", { role: "img", "aria-label": "The scores of the sampled queries on an axis from −20 to 20, with their largest slopes and weights", style: plane.getAttribute("style") });
    const folded = h("summary");
    const many = h("details", { "data-part": "many" }, folded, sky);
    body.append(divide, plane, below, h("details", {}, h("summary", {}, "The numbers as tables"), numbers, measures));

    /** @type {ReturnType<typeof plan>} */
    let at;
    /** @type {ReturnType<typeof lane>[]} */
    let lanes = [];
    const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": at.letter, fill: "var(--fig-ink)", ...props }, words);
    const cloud = s("g", {});
    const bars = s("g", {});
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    onResize(body, signal, () => at && at.wide !== room() && update());

    const names = () => /** @type {string[]} */ (model.get("names"));
    const withSlopes = () => model.get("slopes") !== false; // figures stored before there was a choice show them
    const top = (/** @type {Measured} */ one) => Math.max(...one.weights);
    const reached = (/** @type {Measured} */ one) => (withSlopes() ? one.largest < CLOSED : top(one) >= CERTAIN);
    const clamp = (/** @type {number} */ x) => Math.round(Math.min(Math.max(x, -LIMIT), LIMIT) * 100) / 100;

    /** Scaled scores of the row, q·k/√d_k. */
    function scaledRow() {
      if (model.get("scores").length) return /** @type {number[]} */ (model.get("scores"));
      const root = Math.sqrt(model.get("d_k"));
      return sampled(model.get("seed"))[WIDTHS.indexOf(model.get("d_k"))][0].slice(0, names().length).map((x) => x / root);
    }

    /** What the softmax gets of a scaled score of 1. */
    const factor = () => (model.get("scaled") ? 1 : Math.sqrt(model.get("d_k"))) / Number(model.get("temperature"));

    /** Where everything stands: scores, slopes and weights side by side; where there is little room, scores, and below them what becomes of them. */
    function plan() {
      const wide = room();
      const small = wide < 480;
      const beside = !small || !withSlopes();
      const letter = beside ? 12 : 13;
      const left = 10 + (beside ? 7 : 8) * Math.min(Math.max(...names().map((word) => word.length)), 6);
      const [number, gap] = [40, beside ? 12 : 6];
      /** @type {["slope" | "weight", number][]} what a softmax makes of scores, and which part of the room it gets */
      const parts = !beside ? [["weight", 0.5], ["slope", 0.5]] : withSlopes() ? [["slope", 0.68], ["weight", 0.32]] : [["weight", 1]];
      const given = beside ? (withSlopes() ? 0.38 : small ? 0.2 : 0.26) * wide : wide - left - parts.length * (number + gap);
      const right = beside ? wide - given - parts.length * (number + gap) : wide - 8;
      let x = beside ? right + gap : left;
      const columns = parts.map(([what, part]) => {
        const [from, across] = [x, part * given];
        x += across + number + gap;
        return { what, from, across };
      });
      const head = beside && right < 450 ? 2 * LINE : LINE;
      const row = small ? 2.5 : 3.25; // for each sampled query
      const high = row * ROWS;
      const axis = head + high;
      const strip = axis + AXIS + LINE; // where the profiles of the sampled rows are, if below
      const tall = beside ? high : 44;
      const first = beside ? axis + AXIS + 2 : LINE;
      const each = names().length > 5 ? 21 : beside ? 26 : 24; // for a score
      const under = first + names().length * each;
      const [bars, step] = beside ? [first, each] : [under + 6 + LINE, 20];
      const height = bars + names().length * step + 2;
      const heap = small ? (beside ? 8 : 14) : 24; // what is beyond the axis lies at its ends
      return { wide, small, beside, letter, left, right, columns, head, row, high, axis, strip, tall, each, first, under, bars, step, height, heap, middle: (left + right) / 2, unit: (right - left - 8 - 2 * heap) / (2 * REACH) };
    }
    const place = (/** @type {number} */ z) => at.middle + at.unit * Math.min(Math.max(z, -REACH), REACH);
    const middle = (/** @type {number} */ i) => at.first + (i + 0.5) * at.each;
    const barTop = (/** @type {number} */ i) => at.bars + (i + 0.5) * at.step - BAR / 2;

    /** A score on a line of its own, to be dragged along the axis. @param {string} name @param {number} i */
    function lane(name, i) {
      const mark = s("path", { fill: "var(--fig-ink)" });
      const reading = text({ y: 4, ...halo() }); // on its own line it leaves a gap there, and is not struck through
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
          reading.setAttribute("font-size", String(at.letter));
          reading.setAttribute("stroke-width", String(0.75 * at.letter));
          reading.setAttribute("x", String(where * 13));
          reading.setAttribute("text-anchor", where > 0 ? "start" : "end");
          reading.textContent = fmt(z, Math.abs(z) < 100 ? 1 : 0);
          g.setAttribute("aria-valuenow", String(clamp(scaledRow()[i])));
          g.setAttribute("aria-valuetext", `${fmt(score)}, weight ${fmt(p)}`);
        },
      };
    }

    /** @param {SVGElement} svg @param {number} height */
    const size = (svg, height) => Object.entries({ viewBox: `0 0 ${at.wide} ${height}`, width: at.wide, height }).forEach(([name, value]) => svg.setAttribute(name, String(value)));

    /** What stays while numbers change: lines, names, tracks of full length. */
    function build() {
      at = plan();
      size(plane, at.height);
      size(sky, at.strip + at.tall + 2);
      if (at.beside) many.remove();
      else if (!many.parentNode) below.after(many);
      (at.beside ? below : many).append(again);
      // Both sliders in one row where their names leave room.
      const grid = at.small && at.wide > 300 ? 'flex: 1 1 7rem; grid-template: "name reading" "input input" / 1fr auto; row-gap: 0' : 'flex: 1 1 14rem; grid-template: "name input reading" / max-content 1fr auto';
      for (const { row } of [width, temperature]) row.style.cssText = grid;
      const kept = names().map((_, i) => lanes[i]?.g);
      lanes = names().map((name, i) => (kept[i] && lanes[i].g.getAttribute("aria-label") === `score of key ${name}` ? lanes[i] : lane(name, i)));
      const ticks = [-20, -10, 0, 10, 20];
      const quiet = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, anchor = "start") => text({ x, y, fill: "var(--fig-quiet)", "text-anchor": anchor }, words);
      const short = (/** @type {string} */ word) => (word.length > 6 ? `${word.slice(0, 5)}…` : word);
      const top = at.beside ? at.head : at.strip;
      const scale = top + at.tall + 15;
      const lines = (/** @type {number[][]} */ runs) => strokes(ticks.flatMap((z) => runs.map(([y, high]) => `M ${place(z)} ${y} v ${high}`)).join(""), { "data-part": "ticks", stroke: "var(--fig-line)" });
      const numbered = (/** @type {number} */ y) => ticks.slice(1).map((z) => quiet(place(z), y, fmt(z, 0), "middle"));
      const sampled = [
        lines([[at.head, at.high]]),
        ...at.columns.flatMap(({ what, from, across }) => [
          box(from, top, across, at.tall, TRACK),
          quiet(from, top - 6, `largest ${what}`),
          ...(at.beside ? [] : [quiet(from - 4, top + 10, MOST[what][1], "end"), quiet(from - 4, top + at.tall, "0", "end")]),
        ]),
        ...numbered(at.axis + 15),
        cloud,
      ];
      const moves = "how fast p moves";
      const called = (/** @type {"slope" | "weight"} */ what, /** @type {number} */ across) =>
        what === "weight" ? (across > 80 || !at.beside ? "weight p" : "") : !at.beside ? (across > 92 ? `slope: ${moves}` : "slope") : across > 220 ? `slope p(1 − p): ${moves}` : "slope p(1 − p)";
      const named = (/** @type {(i: number) => number} */ line) => names().map((word, i) => text({ x: 0, y: line(i) }, short(word)));
      const one = [
        lines([[at.first, at.under - at.first]]),
        ...at.columns.flatMap(({ what, from, across }) => [
          // The profile's scale is that of the bars below, too, if it lies along them.
          ...(at.beside ? [quiet(from, scale, "0"), quiet(from + across, scale, MOST[what][1], "end"), quiet(from + across / 2, scale, called(what, across), "middle")]
            : [quiet(from, at.bars - 5, called(what, across))]),
          ...names().map((_, i) => box(from, barTop(i), across, BAR, TRACK)),
        ]),
        ...(at.beside ? [] : [...numbered(at.first - 5), ...named((i) => barTop(i) + BAR - 1)]),
        quiet(0, at.beside ? at.axis + 15 : at.first - 5, !at.beside ? "scores / T" : at.small ? "" : "one query"),
        bars,
        ...named((i) => middle(i) + 4),
        ...lanes.map(({ g }) => g),
      ];
      sky.replaceChildren(...(at.beside ? [] : sampled));
      plane.replaceChildren(...(at.beside ? sampled : []), ...one);
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
      const y = (/** @type {number} */ r) => at.head + (r + 0.5) * at.row;
      // Beyond the axis they lie one behind the other.
      const lie = at.heap / Math.min(names().length, 6);
      const dots = rows.flatMap((one, r) => {
        const beyond = [0, 0];
        return one.map((z) => {
          const out = Math.abs(z) > REACH ? Math.min(++beyond[Number(z > 0)] * lie, at.heap) : 0;
          return `M ${(place(z) + Math.sign(z) * out).toFixed(1)} ${y(r).toFixed(1)} h 0`;
        });
      });
      const all = rows.flat();
      const gone = all.filter((z) => Math.abs(z) > REACH).length / all.length;
      const spread = deviation(all);
      const far = gone ? `, ${fmt(100 * gone, gone < 0.01 ? 1 : 0)} % beyond${at.small ? "" : ` ±${REACH}`}` : "";
      const said = `scores / T${at.small || at.head > LINE ? "" : `, standard deviation ${fmt(spread, spread < 10 ? 1 : 0)}`}${far}`;
      const theirs = rows.map(measure);
      const of = { slope: (/** @type {Measured} */ one) => one.largest, weight: top };
      const profile = (/** @type {typeof at.columns[number]} */ { what, from, across }) => {
        const step = at.beside ? at.row : across / ROWS;
        const lines = theirs.map((one, r) => {
          const part = of[what](one) / MOST[what][0];
          return at.beside ? `M ${from} ${y(r).toFixed(1)} h ${(part * across).toFixed(1)}` : `M ${(from + (r + 0.5) * step).toFixed(2)} ${at.strip + at.tall} v ${(-part * at.tall).toFixed(1)}`;
        });
        return strokes(lines.join(""), { stroke: PAINTS[what], "stroke-width": step + 0.1 });
      };
      // How many have gone all the way; there they are, at the top, and there is room for it.
      const lost = theirs.filter(reached).length;
      const { what, from, across } = at.columns[0];
      const ink = `var(--fig-${what === "slope" ? "ink" : "paper"})`; // weights are full there
      const edge = at.head + lost * at.row;
      const count = !at.small && lost * at.row > LINE
        ? [
            strokes(`M ${from} ${edge} h ${across}`, { stroke: ink, "stroke-dasharray": "3 3" }),
            text({ x: from + across - 8, y: edge - 6, "text-anchor": "end", "font-weight": 650, fill: ink }, `${lost} of ${ROWS}: ${what === "slope" ? `below ${CLOSED}` : `${CERTAIN} or more`}`),
          ]
        : [];
      const heading = at.beside ? `${ROWS} queries, sorted by largest weight` : "by largest weight";
      const quiet = (/** @type {number} */ line, /** @type {string} */ words) => text({ x: 0, y: line * LINE - 6, fill: "var(--fig-quiet)" }, words);
      cloud.replaceChildren(
        strokes(dots.join(""), { "data-part": "cloud", stroke: "var(--fig-ink)", "stroke-width": at.small ? 2.6 : 3.5, "stroke-linecap": "round", "stroke-opacity": 0.75 }),
        ...at.columns.map(profile),
        ...count,
        ...(at.head > LINE ? [quiet(1, heading), quiet(2, said)] : [quiet(1, `${heading}: ${said}`)]),
        strokes(`M ${place(-spread)} ${at.axis + 1} H ${place(spread)}`, { stroke: "var(--fig-ink)", "stroke-width": 2.5 }),
      );
      const ours = measure(row.map((x) => x * by));
      const one = { slope: ours.slopes, weight: ours.weights };
      bars.replaceChildren(
        ...at.columns.flatMap(({ what, from, across }) =>
          one[what].flatMap((value, i) => [
            box(from, barTop(i), (value / MOST[what][0]) * across, BAR, { fill: PAINTS[what], "data-part": what, "data-which": i }),
            text({ x: from + across + 5, y: barTop(i) + BAR - 1 }, fmt(value, what === "slope" ? 3 : 2)),
          ]),
        ),
      );
      lanes.forEach(({ show }, i) => show(row[i] * by, row[i], ours.weights[i]));
    }

    /** @type {boolean | undefined} */
    let before;
    let frame = 0;
    signal.addEventListener("abort", () => cancelAnimationFrame(frame));
    /**
     * Paint what is now; when the division was switched, let the scores travel, and say what came of it when they are there.
     * @param {ReturnType<typeof read>} now
     * @param {() => void} then
     */
    function travel(now, then) {
      cancelAnimationFrame(frame);
      const still = before === undefined || before === now.scaled || calm();
      before = now.scaled;
      const away = Math.log(now.d_k) * (now.scaled ? 0.5 : -0.5);
      const began = performance.now();
      const go = () => {
        const left = still ? 0 : Math.max(1 - (performance.now() - began) / 600, 0);
        paint(now, Math.exp(away * left ** 2));
        if (left) frame = requestAnimationFrame(go);
        else then();
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
      if (!scaled) no.classList.remove("is-asked");
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
      const closed = theirs.filter(reached).length;
      // Where the sampled queries wait in their fold, it says how many are lost.
      folded.textContent = `${closed} of ${ROWS} queries: slopes below ${CLOSED}`;
      prompt.replaceChildren(...(scaled ? ["Press ", h("i", {}, "no"), `: where do the ${slopes ? "slopes" : "weights"} go?`] : ["Which temperature undoes it?"]));
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
      const words =
        `Key ${names()[most]} has weight ${fmt(top(ours))}${slopes ? ` and slope ${small(ours.slopes[most])}` : ""}. ` +
          `Of ${ROWS} sampled queries, ${closed} ${slopes ? `have no slope of ${CLOSED} or more` : "give 99 % or more to one key"}.`;
      travel(now, () => say(words));
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

    /** All that is to be seen: with the sampled queries, where they are in their fold and it is open. */
    function svg() {
      if (at.beside || !many.open) return standalone(plane);
      const [all, lower] = [plane, sky].map((one) => /** @type {any} */ (one.cloneNode(true)));
      lower.setAttribute("y", at.height);
      all.append(lower);
      size(all, at.height + at.strip + at.tall + 2);
      return standalone(all);
    }

    return { update, pytorch, svg };
  },
});
