// Online softmax, one motion: tile by tile the scores of one query come in, the largest score so far rises, and the two
// sums that are held shrink with it before the tile's own part is added.
//
// For tests (data-part): plane (svg), handle (g, role slider; data-which 0..n-1, those that have come in), tile (rects,
// data-which), largest (path: the line of m), kept, share (rects of the bars; data-of sum | total, data-amount), bar-sum,
// bar-total (g, data-amount: where the bar ends), output, whole (circles, data-amount), correction (text); play, back,
// next (buttons), shift (radio group), rescale (checkbox), numbers (table: tile, keys, largest score,
// correction, sum, weighted sum, output), status.
import own from "./ui/online.css";
import pill from "./ui/play.css";
import { labelled, stem } from "./ui/controls.js";
import { calm, choices, fmt, h, halo, onResize, s, select, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { player } from "./ui/play.js";
import { strip, table } from "./ui/tables.js";
import { atOnce, between, byTiles } from "./math/online.js";

/** @typedef {import("./math/online.js").Step} Step */

const TILES = [1, 2, 3, 4, 6, 12];
const SHIFTS = [0, 80, 1000, -1000];
const LIMIT = 4; // scores can be dragged from -4 to 4, before the shift
const TAKES = 2200; // milliseconds for a tile: it comes in, the line rises and the bars shrink, its part is added
const RESTS = 700; // and before the next one, when it plays
const [TRACK, EDGE] = [22, 12]; // height of a bar; room above and below the scores
const CALM = { fill: "var(--fig-tint)", stroke: "var(--fig-line)" };

/**
 * A number as the table shows it: powers of ten where four decimals would hide it.
 * @param {number} x
 * @param {number} [digits]
 */
function shown(x, digits = 4) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  return x !== 0 && (Math.abs(x) >= 1e5 || Math.abs(x) < 10 ** (1 - digits)) ? x.toExponential(digits - 1).replaceAll("-", "−") : fmt(x, digits);
}
const brief = (/** @type {number} */ x) => (Number.isFinite(x) && Math.abs(x) < 1e5 ? fmt(x, Math.abs(x) < 100 ? 2 : 1) : shown(x, 2));
const signed = (/** @type {number} */ x) => (x ? `${x > 0 ? "+" : "−"}${Math.abs(x).toLocaleString("en")}` : "0");
const part = (/** @type {number} */ x, /** @type {number} */ from, /** @type {number} */ to) => Math.min(Math.max((x - from) / (to - from), 0), 1);
const ease = (/** @type {number} */ x) => x * x * (3 - 2 * x);
const text = (/** @type {any} */ props, /** @type {(string | Node)[]} */ ...words) => s("text", { "font-size": 13, fill: "var(--fig-ink)", ...props }, ...words);
const italic = (/** @type {string} */ letter) => s("tspan", { "font-style": "italic" }, letter);

export default figure({
  name: "online",
  css: pill + own,
  title: "Online softmax",
  keys: ["scores", "values", "tile", "step", "shift", "rescale"],
  setup({ model, body, say, set, signal }) {
    const to = (/** @type {number} */ step) => set({ step: Math.min(Math.max(step, 0), count()) });
    const button = (/** @type {string} */ name, /** @type {string} */ words, /** @type {() => void} */ click) =>
      h("button", { type: "button", "data-part": name, on: { click } }, words);
    const { play, going } = player(() => (playing ? stop() : start()), true);
    const back = button("back", "←", () => walk(-1));
    const next = button("next", "→", () => walk(1));
    for (const [arrow, words] of [[back, "Back by a tile"], [next, "On by a tile"]]) arrow.setAttribute("aria-label", words);
    const controls = h("div", { class: "attnlab-row attnlab-oplay", role: "group", "aria-label": "Tiles, one after the other; arrow keys go back and on" }, play, back, next);
    controls.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (!by) return;
      event.preventDefault();
      walk(by);
    });
    const shifts = choices({
      label: "Added to every score", part: "shift", value: "0",
      options: SHIFTS.map((x) => ({ value: String(x), text: signed(x) })),
      onChange: (x) => set({ shift: Number(x) }),
    });
    const rescale = h("input", { type: "checkbox", "data-part": "rescale", on: { change: () => set({ rescale: rescale.checked }) } });
    const plane = s("svg", { role: "group", class: "attnlab-oplane", "data-part": "plane" });
    const numbers = strip("What is held after each tile");
    body.append(
      plane,
      h("div", { class: "attnlab-oset" }, controls, labelled("Add to scores", shifts), h("label", {}, rescale, "subtract m")),
      h("details", {}, h("summary", {}, "The numbers as a table"), numbers),
    );

    /** @type {ReturnType<typeof stem>[]} */
    let stems = [];
    const [behind, line, marks, bars] = [s("g", {}), s("path", { stroke: "var(--fig-line)" }), s("g", {}), s("g", {})];
    const scores = () => /** @type {number[]} */ (model.get("scores"));
    const count = () => Math.ceil(scores().length / model.get("tile"));
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    onResize(body, signal, () => at && at.wide !== room() && update());

    /** @type {ReturnType<typeof plan>} */
    let at;
    /** Where everything stands: held numbers in a column on the left, scores beside it, and bars below. */
    function plan() {
      const wide = room();
      const roomy = wide >= 480;
      const left = roomy ? 92 : 56;
      const unit = roomy ? 13 : 12;
      const zero = EDGE + LIMIT * unit + 4;
      const floor = zero + LIMIT * unit + EDGE;
      const sums = floor + 52;
      return { wide, roomy, left, unit, zero, floor, sums, across: wide - left - 3, column: (wide - left - 3) / scores().length, size: roomy ? 13 : 11.5, height: sums + 2 * (TRACK + 9) + 44 };
    }

    function build() {
      at = plan();
      plane.setAttribute("viewBox", `0 0 ${at.wide} ${at.height}`);
      plane.setAttribute("width", String(at.wide));
      plane.setAttribute("height", String(at.height));
      const size = Math.min(at.size, at.column / 1.9); // a sign, a point and two digits are 1.8 wide
      stems = scores().map((_, i) =>
        stem(
          {
            plane, signal, which: i, label: `score of key ${i + 1}`, x: at.left + (i + 0.5) * at.column, wide: at.column, zero: at.zero, unit: at.unit, limit: LIMIT,
            get: () => scores()[i],
            move: (x) => set({ scores: scores().map((old, j) => (j === i ? x : old)) }),
          },
          text({ "text-anchor": "middle", "font-size": size, ...(at.roomy ? halo(3) : {}) }),
          text({ "text-anchor": "middle", "font-size": size, y: at.floor + 15, fill: "var(--fig-value)" }),
        ),
      );
      line.setAttribute("d", `M ${at.left} ${at.zero} h ${at.across}`);
      marks.replaceChildren();
      plane.replaceChildren(behind, line, marks, bars);
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
      const on = Boolean(model.get("rescale"));
      const steps = byTiles(shifted, values, tile, on);
      return { values, tile, shift, shifted, on, steps, step: Math.min(step, steps.length), whole: atOnce(shifted, values) };
    }
    /** @typedef {ReturnType<typeof read>} State */

    /**
     * Draw it all at a moment on the way into the last tile seen: 1 when it is there.
     * @param {State} state
     * @param {number} moment
     */
    function paint({ values, tile, shift, shifted, on, steps, step, whole }, moment) {
      const { left, across, column, zero, unit, floor, sums, size, roomy } = at;
      const now = steps[step - 1];
      const before = steps[step - 2];
      const [come, risen, added] = [part(moment, 0, 0.2), ease(part(moment, 0.25, 0.62)), ease(part(moment, 0.68, 1))];
      const held = now && between(before, now, risen, added, values.slice(now.from, now.to));
      const height = (/** @type {number} */ score) => zero - unit * (score - shift);
      // Digits that a formula has are those that it ends with: what runs is the line, the bars and the numbers at bars.
      const largest = risen && now ? now.max : before ? before.max : -Infinity;
      // Left of everything else, what is held.
      const named = (/** @type {number} */ y, /** @type {string} */ letter, /** @type {string} */ amount) =>
        text({ x: 0, y, "font-size": size }, ...letter.split("").map((x) => (/[a-z]/.test(x) ? italic(x) : x)), roomy ? " = " : " ", s("tspan", { "font-weight": 600 }, amount));
      const level = held && on ? height(held.max) : zero + LIMIT * unit;
      const rising = before ? level : level + (1 - risen) * (zero + LIMIT * unit - level);
      behind.replaceChildren(
        ...steps.map(({ from, to: end }, t) =>
          s("rect", {
            x: left + from * column + 1.5, y: 2, width: (end - from) * column - 3, height: floor + 20, rx: 7, "data-part": "tile", "data-which": t,
            fill: t < step ? "var(--fig-query)" : "none", "fill-opacity": t === step - 1 ? 0.16 : 0.05,
            stroke: t === step - 1 ? "var(--fig-query)" : "var(--fig-line)", "stroke-width": t === step - 1 ? 2 : 1.2, "stroke-dasharray": t < step ? "none" : "5 4",
          }),
        ),
        ...steps.slice(step).map(({ from, to: end }, t) =>
          text({ x: left + ((from + end) / 2) * column, y: floor + 15, "text-anchor": "middle", "font-size": size, fill: "var(--fig-quiet)" }, (end - from) * column > 50 ? `tile ${step + t + 1}` : String(step + t + 1)),
        ),
        ...(Math.abs(rising - zero) > 15 || !on ? [text({ x: 0, y: zero + 4, "font-size": size, fill: "var(--fig-quiet)" }, `${roomy ? "score " : ""}${signed(shift).replace("+", "")}`)] : []),
        ...(step ? [text({ x: 0, y: floor + 15, "font-size": size, fill: "var(--fig-value)" }, "values")] : []),
        ...(on ? [named(Math.min(rising + 4, floor + 2), "m", brief(largest))] : []),
        ...(on && held
          ? [
              s("path", { d: `M ${left} ${rising.toFixed(2)} h ${across}`, stroke: "var(--fig-ink)", "stroke-dasharray": "3 4" }),
              s("path", { d: `M ${left} ${(before ? height(steps[0].max) : rising).toFixed(2)}${steps.slice(0, step).map((one, t) => `V ${(t === step - 1 ? rising : height(one.max)).toFixed(2)} H ${(left + one.to * column).toFixed(1)}`).join("")}`, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 3, "data-part": "largest", "data-amount": held.max }),
            ]
          : []),
      );
      // What has not come in is not there, for eyes and for keys.
      const there = now ? now.to : 0;
      while (marks.childElementCount > there) marks.lastChild?.remove();
      stems.slice(0, there).forEach(({ g, show }, i) => {
        if (i >= marks.childElementCount) marks.append(g);
        g.setAttribute("opacity", now && i >= now.from ? String(come) : "1");
        show(scores()[i], `${fmt(shifted[i])}, value ${fmt(values[i])}`);
        const [score, value] = [...g.children].slice(-2);
        score.setAttribute("y", String(scores()[i] < 0 ? zero - 7 : zero + 16));
        // Of a shifted row they say how far from its line they are.
        score.textContent = (shift && scores()[i] > 0 ? "+" : "") + fmt(scores()[i], 1);
        value.textContent = fmt(values[i], Number.isInteger(values[i]) ? 0 : 1);
      });
      // One scale for both bars, whatever comes: half as many powers of 1 as there are keys.
      const most = Math.max(2, scores().length / 2);
      const ends = { sum: [0, most], total: [most * Math.min(0, ...values), most * Math.max(0, ...values)] };
      const rows = /** @type {const} */ (["sum", "total"]).flatMap((of, r) => {
        const y = sums + r * (TRACK + 9);
        const [low, high] = ends[of][0] === ends[of][1] ? [0, 1] : ends[of];
        const x = (/** @type {number} */ a) => left + (across * (Math.min(Math.max(Number.isNaN(a) ? 0 : a, low), high) - low)) / (high - low);
        const box = (/** @type {number} */ from, /** @type {number} */ end, /** @type {any} */ props) =>
          s("rect", { x: Math.min(x(from), x(end)).toFixed(2), y, width: Math.abs(x(end) - x(from)).toFixed(2), height: TRACK, ...props });
        const role = of === "sum" ? "query" : "output";
        const kept = held ? (of === "sum" ? held.kept : held.keptTotal) : 0;
        const amount = held ? held[of] : 0;
        const old = before ? before[of] : 0;
        let along = kept;
        const shares = now && added ? now.powers.map((power, i) => {
          const from = along;
          along += added * power * (of === "sum" ? 1 : values[now.from + i]);
          const away = Math.abs(along) >= Math.abs(from);
          const width = Math.abs(x(along) - x(from));
          return s("g", { "data-part": "share", "data-of": of, "data-amount": along - from },
            box(from, along, { fill: away ? `var(--fig-${role})` : "var(--fig-paper)", "fill-opacity": away ? 0.4 : 0.8, stroke: `var(--fig-${role})`, "stroke-width": 1.2 }),
            ...(width > 34 ? [text({ x: (x(from) + x(along)) / 2, y: y + TRACK / 2 + 4, "text-anchor": "middle", "font-size": 12 }, fmt(along - from))] : []));
        }) : [];
        const beyond = amount > high ? 1 : amount < low ? -1 : 0;
        return [
          named(y + 17, of === "sum" ? "z" : "t", step ? brief(amount) : "0"),
          s("rect", { x: left, y, width: across, height: TRACK, "stroke-width": 0.5, ...CALM }),
          box(0, kept, { fill: `var(--fig-${role})`, stroke: `var(--fig-${role})`, "data-part": "kept", "data-of": of, "data-amount": kept }),
          ...shares,
          // How long it was before it shrank.
          ...(old && kept !== old ? [box(0, old, { y: y - 2.5, height: TRACK + 5, fill: "none", stroke: "var(--fig-ink)", "stroke-dasharray": "4 3" })] : []),
          s("g", { "data-part": `bar-${of}`, "data-amount": amount },
            ...(beyond ? [s("path", { d: `M ${beyond > 0 ? left + across : left} ${y + TRACK / 2} l ${-11 * beyond} -8 v 16 Z`, fill: "var(--fig-paper)", stroke: "var(--fig-ink)", "stroke-width": 1.5 })] : [])),
          ...(low < 0 ? [s("path", { d: `M ${x(0)} ${y - 4} v ${TRACK + 8}`, stroke: "var(--fig-ink)" })] : []),
        ];
      });
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const y = sums + 2 * (TRACK + 9) + 15;
      const where = (/** @type {number} */ v) => left + 12 + (across - 24) * (high > low ? part(v, low, high) : 0.5);
      const dot = (/** @type {number} */ v, /** @type {any} */ props) => (Number.isFinite(v) ? [s("circle", { cx: where(v).toFixed(2), cy: y, "data-amount": v, ...props })] : []);
      const done = step === steps.length && moment === 1;
      const limits = high > low ? [low, high] : [low];
      const side = where(whole) > left + across / 2 ? "end" : "start";
      bars.replaceChildren(
        ...(held && before && on && risen
          ? [text({ x: left, y: floor + 42, "font-size": size + 1, "data-part": "correction" }, roomy ? "both × " : "× ", italic("e"), s("tspan", { dy: -5, "font-size": size - 2 }, `${brief(before.max)} − ${brief(largest)}`), s("tspan", { dy: 5 }, ` = × ${fmt(now.factor, 3)}`))]
          : []),
        ...rows,
        ...(on || !now || Number.isFinite(held.output) ? [] : [text({ x: left, y: floor + 42, "font-size": size + 1 }, now.sum ? "overflow" : "nothing left: all powers are zero")]),
        named(y + 4, "t/z", held && (held.sum || !on) ? brief(held.output) : "–"),
        s("path", { d: `M ${where(low)} ${y} H ${where(high)}`, stroke: "var(--fig-quiet)" }),
        ...limits.flatMap((v) => [
          s("path", { d: `M ${where(v)} ${y - 5} v 10`, stroke: "var(--fig-quiet)" }),
          ...(done && !roomy ? [] : [text({ x: where(v), y: y + 22, "text-anchor": "middle", "font-size": 11.5, fill: "var(--fig-quiet)" }, fmt(v, Number.isInteger(v) ? 0 : 1))]),
        ]),
        ...(held && held.sum ? dot(held.output, { r: 8, fill: "var(--fig-output)", "data-part": "output" }) : []),
        ...(done ? [...dot(whole, { r: 12, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 2.5, "data-part": "whole" }), text({ x: where(whole) + (side === "end" ? 12 : -12), y: y + 26, "text-anchor": side, "font-size": size, ...halo(5) }, `the whole row: ${brief(whole)}`)] : []),
      );
    }

    let [playing, frame, timer, drawn] = [false, 0, 0, -2];
    const halt = () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
    signal.addEventListener("abort", halt);
    function mode(/** @type {boolean} */ on) {
      playing = on;
      going(on);
    }
    function stop() {
      mode(false);
      halt();
      update();
    }
    function start() {
      mode(true);
      to(model.get("step") >= count() ? 1 : model.get("step") + 1);
    }
    const walk = (/** @type {number} */ by) => {
      mode(false);
      to(model.get("step") + by);
    };
    /** Come to rest in a tile, and go on to the next one. @param {State} state */
    function arrived({ step, steps }) {
      if (!playing) return;
      if (step >= steps.length) mode(false);
      else timer = setTimeout(() => to(step + 1), RESTS + (calm() ? TAKES / 2 : 0));
    }
    /** Let a tile come in; whatever else changed is there at once. @param {State} state */
    function travel(state) {
      halt();
      const one = state.step !== drawn && (state.step === drawn + 1 || (playing && state.step === 1));
      if (playing && state.step !== drawn && !one) mode(false);
      const began = !one || calm() ? -Infinity : performance.now();
      drawn = state.step;
      if (began > -Infinity) say(`Tile ${state.step} of ${state.steps.length} comes in.`);
      const go = () => {
        const moment = Math.min((performance.now() - began) / TAKES, 1);
        paint(state, moment);
        if (moment < 1) frame = requestAnimationFrame(go);
        else {
          tell(state); // what came of it is said when it is seen
          arrived(state);
        }
      };
      go();
    }

    function update() {
      const state = read();
      const { values, shifted, on, steps, step, whole } = state;
      if (!at || at.wide !== room() || stems.length !== scores().length) build();
      plane.setAttribute("aria-label", `The scores of one query, ${step} of ${steps.length} tiles of them, and what is held; each score that has come in can be dragged, or moved with the arrow keys`);
      select(shifts, String(model.get("shift")));
      rescale.checked = on;
      back.disabled = step === 0;
      next.disabled = step === steps.length;
      travel(state);
      const done = step === steps.length;
      numbers.replaceChildren(
        table("numbers", ["tile", "keys", "largest score", "correction", "sum of powers", "weighted sum", "output so far"], [
          ...steps.slice(0, step).map((one, t) => [
            String(t + 1), one.to - one.from > 1 ? `${one.from + 1}–${one.to}` : String(one.to), on ? shown(one.max) : "not kept",
            on ? shown(one.factor) : "none", shown(one.sum), shown(one.total), shown(one.output),
          ]),
          ...(done ? [["all at once", `1–${values.length}`, shown(Math.max(...shifted)), "", "", "", shown(whole)]] : []),
        ]),
      );
    }

    /** @param {State} state */
    function tell({ on, steps, step, whole }) {
      const now = steps[step - 1];
      const row = step === steps.length ? ` The whole row at once: ${brief(whole)}.` : "";
      say(
        now
          ? `Tile ${step} of ${steps.length}: ${on ? `m = ${brief(now.max)}, ` : ""}z = ${brief(now.sum)}, t = ${brief(now.total)}; t/z = ${brief(now.output)}.${row}`
          : `No tile has come in yet: ${steps.length} to come.`,
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
