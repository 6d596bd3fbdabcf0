// Heads workshop: where the heads of one layer look, each a small drawing of arcs that can be switched off, one of them
// large; below them the layer's output, the sum of their parts. Its other view has fewer heads, or heads that share keys
// and values.
//
// For tests (data-part): token (radio group), plane (svg), numbers (table), status; in both views a path [data-weight] for
// each word that a head looks at. Sum: head (g, role switch, data-head 1..n), picked (g, data-head: the large one), piece (g: data-head, data-number,
// data-amount), total (path, data-number, data-amount), parts (table: head, on or off, its part). Share: heads, kv (radio
// groups), wire (paths), cache (g), sums (table: this layer now, and with K/V of each head's own).
import css from "./ui/heads.css";
import { labelled } from "./ui/controls.js";
import { calm, choices, fmt, h, onResize, renew, s, select, shade, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { matrix } from "./math/attention.js";
import { reach, shared, sum } from "./math/heads.js";

/** @typedef {import("./math/heads.js").Matrix} Matrix */
/** @typedef {[number, number]} Point */

const COUNTS = ["1", "2", "4", "8"];
const MATRICES = ["x", "w_q", "w_k", "w_v", "w_o"];
const [ROW, BAR] = [24, 16]; // of the sum
const COLUMNS = 4; // of small drawings
const LOOK = 0.25; // who gets so much is named, even where there is no room for all
const SEEN = 0.1; // less is hardly seen in a small drawing
const text = (/** @type {string} */ words, /** @type {Record<string, any>} */ where) =>
  s("text", { "font-size": 12, fill: "var(--fig-ink)", "text-anchor": "middle", ...where }, words);
const short = (/** @type {string} */ word) => (word.length > 7 ? `${word.slice(0, 6)}…` : word);
const dashed = { fill: "none", stroke: "var(--fig-quiet)", "stroke-dasharray": "3 2" };
const count = (/** @type {number} */ n, /** @type {string} */ kind) => `${n} ${kind}${n === 1 ? "" : "s"}`;
const digits = (/** @type {number} */ x) => x.toFixed(4);

/**
 * The words of a head as dots on a line, with an arc from the one that looks to each, as wide as its weight; behind them,
 * faintly, the arcs of all others. Where heads stand side by side only the arcs that one can see are drawn: from the one that
 * looks, of weights that show.
 * @param {Matrix} weights
 * @param {number} token
 * @param {{ at: (i: number) => number, tall: number, put: (u: number, v: number) => Point, few?: boolean }} given place on
 *   the line, how high an arc may rise, where in the drawing (along, above) is, and whether heads stand side by side
 */
function arcs(weights, token, { at, tall, put, few = false }) {
  const n = weights.length;
  const thick = Math.min(9, 2.5 + tall / 24);
  const loop = n > 1 ? 0.9 * (at(1) - at(0)) : 12;
  const bow = tall < 30 ? 0.35 : 0.45; // less than 1: words side by side have an arc that is seen
  const point = (/** @type {number} */ u, /** @type {number} */ v) => put(u, v).map((x) => x.toFixed(1)).join(" ");
  const arc = (/** @type {number} */ i, /** @type {number} */ j) => {
    const high = (4 / 3) * tall * (i === j ? 0.5 : (Math.abs(i - j) / Math.max(n - 1, 1)) ** bow);
    const [from, to] = i === j ? [at(i) - loop, at(i) + loop] : [at(i), at(j)];
    return `M ${point(at(i), 0)} C ${point(from, high)}, ${point(to, high)}, ${point(at(j), 0)}`;
  };
  // In one order whoever looks: what stays where it is in the drawing is seen to change.
  const lines = weights.flatMap((row, i) =>
    row.flatMap((w, j) => {
      const ours = i === token;
      if ((few && !ours) || (w < SEEN && (few || !ours))) return [];
      const look = ours
        ? { stroke: "var(--fig-query)", "stroke-opacity": (0.15 + 0.85 * w).toFixed(3), "stroke-width": (thick * w).toFixed(2), "data-weight": digits(w) }
        : { stroke: "var(--fig-quiet)", "stroke-opacity": 0.22, "stroke-width": (0.5 * thick * w).toFixed(2) };
      return [s("path", { "data-key": `${i} ${j}`, d: arc(i, j), fill: "none", "stroke-linecap": "round", ...look })];
    }),
  );
  const dots = weights[token].map((w, j) => {
    const [cx, cy] = put(at(j), 0);
    return s("circle", { "data-key": j, cx, cy, r: (thick * (0.4 + 0.65 * w)).toFixed(2), fill: "var(--fig-query)" });
  });
  const [cx, cy] = put(at(token), 0);
  return [...lines, ...dots, s("circle", { "data-key": "looks", cx, cy, r: thick + 2, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.5 })];
}

export default figure({
  name: "heads",
  title: "Heads workshop",
  css,
  keys: ["heads", "kv_heads", "token", "off"],
  setup({ model, body, say, set, signal }) {
    const sums = model.get("view") !== "share";
    const kept = (/** @type {number} */ n) => /** @type {number[]} */ (model.get("off")).filter((head) => head <= n);
    const counted = (/** @type {string} */ label, /** @type {string} */ part, /** @type {(n: number) => void} */ pick) =>
      choices({ label, part, value: "8", options: COUNTS.map((value) => ({ value, text: value })), onChange: (value) => pick(Number(value)) });
    // Whichever is chosen, the other gives way: there are never more K/V heads than query heads.
    const heads = counted("Query heads", "heads", (n) => set({ heads: n, kv_heads: Math.min(n, model.get("kv_heads")), off: kept(n) }));
    const kv = counted("Key-value heads", "kv", (n) => set({ kv_heads: n, heads: Math.max(n, model.get("heads")) }));
    /** @type {HTMLElement} */
    let picker;
    const pickerPlace = h("span");
    const plane = s("svg", { role: sums ? "group" : "img", class: "attnlab-hplane", "data-part": "plane" });
    const [numbers, more] = ["Where the heads look", sums ? "What each head adds" : "This layer and the same with nothing shared"].map(strip);
    const look = labelled("Look from", pickerPlace);
    body.append(...(sums ? [look, plane] : [h("div", { class: "attnlab-counts" }, labelled("Query heads", heads), labelled("Key-value heads", kv), look), plane]), h("details", {}, h("summary", {}, "The numbers as tables"), numbers, more));
    // The matrices are no part of a link or a reset, but in a live kernel they can change.
    for (const key of [...MATRICES, "tokens"]) {
      const redraw = () => set({});
      model.on(`change:${key}`, redraw);
      signal.addEventListener("abort", () => model.off?.(`change:${key}`, redraw));
    }
    const room = () => Math.max(Math.floor(body.clientWidth) || 700, 220);
    let wide = 0;
    onResize(body, signal, () => wide && wide !== room() && update());

    function read() {
      const [x, wq, wk, wv, wo] = MATRICES.map((key) => matrix(key, model.get(key)));
      const tokens = /** @type {string[]} */ (model.get("tokens"));
      const [n, m] = [Number(model.get("heads")), Number(model.get("kv_heads"))];
      if (!COUNTS.includes(String(n)) || !COUNTS.includes(String(m)) || m > n) {
        throw new Error(`heads and kv_heads must be 1, 2, 4 or 8, and kv_heads at most heads; got ${n} and ${m}.`);
      }
      if (tokens.length !== x.length) throw new Error(`tokens must name the ${x.length} rows of x, it names ${tokens.length}.`);
      for (const [key, w] of [["w_q", wq], ["w_k", wk], ["w_v", wv]]) {
        if (w.length !== x[0].length || /** @type {Matrix} */ (w)[0].length % 8 || /** @type {Matrix} */ (w)[0].length !== wq[0].length) {
          throw new Error(`${key} must have ${x[0].length} rows and a width that 8 divides, the same for all three.`);
        }
      }
      if (wo.length !== wq[0].length) throw new Error(`w_o must have ${wq[0].length} rows, it has ${wo.length}.`);
      const token = Number(model.get("token"));
      if (!(token >= 0 && token < tokens.length)) throw new Error(`token must be from 0 to ${tokens.length - 1}, got ${token}.`);
      const off = /** @type {number[]} */ (model.get("off"));
      if (!off.every((head) => Number.isInteger(head) && head > 0 && head <= n)) throw new Error(`off must name heads from 1 to ${n}, got ${off}.`);
      return { n, m, tokens, token, off, width: wk[0].length, ...shared({ x, wq, wk, wv, wo }, n, m) };
    }

    /** @typedef {ReturnType<typeof read>} State */

    function update() {
      const state = read();
      const { n, m, tokens, token, off } = state;
      wide = room();
      select(heads, String(n));
      select(kv, String(m));
      if (picker?.dataset.names !== JSON.stringify(tokens)) {
        picker = choices({
          label: "Look from",
          part: "token",
          value: String(token),
          options: tokens.map((text, i) => ({ value: String(i), text })),
          onChange: (value) => set({ token: Number(value) }),
        });
        picker.dataset.names = JSON.stringify(tokens);
        pickerPlace.replaceChildren(picker);
      }
      select(picker, String(token));
      if (sums) {
        drawSum(state);
        fillSum(state);
        const without = off.length ? ` Switched off: ${off.length === 1 ? "head" : "heads"} ${[...off].sort((a, b) => a - b).join(", ")}.` : "";
        say(`Seen from “${tokens[token]}” (word ${token + 1}).${without}`);
      } else {
        drawShare(state);
        fillShare(state);
        const kind = m === n ? (n === 1 ? "One head" : "Multi-head") : m === 1 ? "Multi-query" : "Grouped-query";
        say(`${kind}: ${count(n, "query head")}, ${m} of keys and values, seen from “${tokens[token]}” (word ${token + 1}).`);
      }
    }

    let frame = 0;
    signal.addEventListener("abort", () => cancelAnimationFrame(frame));
    /** @type {number[]} */
    let held = [];
    /**
     * Paint with numbers that travel from where they are to where they should be.
     * @param {number[]} goal
     * @param {(now: number[]) => void} paint
     */
    function glide(goal, paint) {
      cancelAnimationFrame(frame);
      const still = held.length !== goal.length || calm();
      const from = still ? goal : held;
      const began = performance.now();
      const go = () => {
        const left = Math.max(1 - (performance.now() - began) / 350, 0) ** 2;
        held = goal.map((x, i) => x + (from[i] - x) * left);
        paint(held);
        if (left && from !== goal) frame = requestAnimationFrame(go);
      };
      go();
    }

    /** @param {number} height */
    const sized = (height) => plane.setAttribute("viewBox", `0 0 ${wide} ${height}`);

    /** @type {ReturnType<typeof cell>[]} */
    let cells = [];
    let large = 1; // the head that was last pointed at
    const [picked, bars] = [s("g", { "data-part": "picked" }), s("g", {})];
    const [looks, wires] = [s("g", {}), s("g", {})];
    const hot = (/** @type {number} */ head, /** @type {boolean} */ on) =>
      bars.querySelectorAll(`[data-head="${head}"]`).forEach((piece) => piece.classList.toggle("is-hot", on));
    const flip = (/** @type {number} */ head) => {
      const off = /** @type {number[]} */ (model.get("off"));
      set({ off: off.includes(head) ? off.filter((one) => one !== head) : [...off, head].sort((a, b) => a - b) });
      hot(head, true);
    };

    /** The place of a head: a switch, one stop for the tab key in all. @param {number} head */
    function cell(head) {
      const g = s("g", { role: "switch", "data-part": "head", "data-head": head, tabindex: head === 1 ? 0 : -1 });
      const keys = (/** @type {KeyboardEvent} */ event) => {
        const step = { ArrowRight: 1, ArrowDown: COLUMNS, ArrowLeft: -1, ArrowUp: -COLUMNS }[event.key];
        if (event.key === "Enter" || event.key === " ") flip(head);
        else if (step) cells[head - 1 + step]?.g.focus();
        else return;
        event.preventDefault();
      };
      const pointed = () => {
        large = head;
        drawPicked(read());
        hot(head, true);
      };
      g.addEventListener("click", () => flip(head));
      g.addEventListener("keydown", keys);
      g.addEventListener("focus", () => {
        for (const one of cells) one.g.setAttribute("tabindex", one.g === g ? "0" : "-1");
        pointed();
      });
      g.addEventListener("pointerenter", pointed);
      for (const end of ["blur", "pointerleave"]) g.addEventListener(end, () => hot(head, false));
      return { g };
    }

    /** How wide and high the large drawing is, and where the small ones begin: beside it, or on a phone below. */
    function places() {
      const few = wide < 560;
      const across = few ? wide : Math.round(0.46 * wide);
      const high = few ? 156 : 240;
      return { few, across, high, left: few ? 0 : across + 14, top: few ? high + 6 : 0 };
    }

    /** The words below a head's dots: all where they fit, else those that get much. @param {number[]} row @param {State} state */
    const names = (row, { tokens, token }, /** @type {(i: number) => number} */ at, /** @type {number} */ y, /** @type {number} */ size) => {
      const fit = tokens.every((word, i) => !i || 0.3 * size * (short(word) + short(tokens[i - 1])).length < at(1) - at(0) - 1);
      return tokens.flatMap((word, j) =>
        fit || row[j] >= LOOK
          ? [text(short(word), { x: at(j), y, "font-size": size, "font-weight": j === token ? 700 : 400, fill: j === token || row[j] >= LOOK ? "var(--fig-ink)" : "var(--fig-quiet)" })]
          : [],
      );
    };
    /** Where words stand between two ends. @param {number} n @param {number} across @param {number} edge */
    const spread = (n, across, edge) => (/** @type {number} */ i) => (n < 2 ? across / 2 : edge + (i * (across - 2 * edge)) / (n - 1));

    /** @param {State} state */
    function drawPicked(state) {
      const { n, tokens, token, off, weights } = state;
      const { few, across, high } = places();
      large = Math.min(large, n);
      const on = !off.includes(large);
      const at = spread(tokens.length, across, few ? 24 : 40);
      picked.setAttribute("data-head", String(large));
      const faded = s("g", { "data-key": "arcs", opacity: on ? 1 : 0.22 });
      faded.append(
        ...arcs(weights[large - 1], token, { at, tall: high - 62, put: (u, v) => [u, high - 34 - v] }),
        ...names(weights[large - 1][token], state, at, high - 8, few ? 14 : 16),
      );
      renew(
        picked,
        text(`Head ${large}${on ? "" : ", off"}`, { x: 0, y: 16, "text-anchor": "start", "font-size": 16, "font-weight": 700 }),
        text("grey: from the other words", { x: across, y: 15, "text-anchor": "end", fill: "var(--fig-quiet)" }),
        faded,
      );
      for (const { g } of cells) g.classList.toggle("is-picked", Number(g.dataset.head) === large);
    }

    /** @param {State} state */
    function drawSum(state) {
      const { n, tokens, token, off, weights, parts } = state;
      const { few, high, left, top: above } = places();
      const gap = few ? 4 : 8;
      const columns = Math.min(n, COLUMNS);
      const across = (wide - left - gap * (columns - 1)) / columns;
      const tall = few ? 66 : (high - gap) / 2;
      if (cells.length !== n) {
        cells = Array.from({ length: n }, (_, i) => cell(i + 1));
        plane.replaceChildren(picked, ...cells.map(({ g }) => g), bars);
      }
      const at = spread(tokens.length, across, few ? 11 : 18);
      const low = across < 105 ? 12 : 26; // below the dots, for names where there is room
      cells.forEach(({ g }, i) => {
        const on = !off.includes(i + 1);
        const row = weights[i][token];
        g.setAttribute("transform", `translate(${(left + (i % columns) * (across + gap)).toFixed(1)} ${above + Math.floor(i / columns) * (tall + gap)})`);
        g.setAttribute("aria-checked", String(on));
        g.setAttribute("aria-label", `head ${i + 1}, looks at ${tokens.map((word, j) => `${word} ${fmt(row[j])}`).join(", ")}`);
        const faded = s("g", { "data-key": "arcs", opacity: on ? 1 : 0.22 });
        faded.append(
          ...arcs(weights[i], token, { at, tall: tall - low - 30, put: (u, v) => [u, tall - low - v], few: true }),
          ...(low < 26 ? [] : names(row, state, at, tall - 7, 12)),
        );
        renew(
          g,
          s("rect", { "data-key": "frame", class: "attnlab-frame", x: 1, y: 1, width: across - 2, height: tall - 2, rx: 8, fill: `var(--fig-${on ? "paper" : "tint"})`, stroke: "var(--fig-line)", "stroke-width": 1.5, "stroke-dasharray": on ? "none" : "4 3" }),
          faded,
          text(String(i + 1), { x: 9, y: 19, "text-anchor": "start", "font-size": 14, "font-weight": 700, fill: on ? "var(--fig-ink)" : "var(--fig-quiet)" }),
          s("rect", { "data-key": "switch", x: across - 34, y: 7, width: 26, height: 14, rx: 7, fill: on ? "var(--fig-output)" : "var(--fig-paper)", stroke: on ? "var(--fig-output)" : "var(--fig-quiet)", "stroke-width": 1.5 }),
          s("circle", { "data-key": "knob", cx: across - (on ? 15 : 27), cy: 14, r: 4.5, fill: on ? "var(--fig-paper)" : "var(--fig-quiet)" }),
        );
      });
      drawPicked(state);
      const top = 16 + (few ? above + Math.ceil(n / columns) * (tall + gap) : high);
      const numbers = parts[0][0].length;
      sized(top + 8 + ROW * numbers);
      plane.setAttribute(
        "aria-label",
        `${count(n, "head")} and where each looks from “${tokens[token]}”, each a switch, one drawn large; ` +
          `below them the layer’s output, a bar of the heads’ parts for each of its ${numbers} numbers`,
      );
      // One scale for all words and all switches: nothing but the parts changes a bar.
      const most = reach(parts);
      const unit = (wide - 26 - 50) / (most.above + most.below || 1);
      const zero = 26 + unit * most.below;
      const whole = sum(parts, [])[token];
      const sumOf = sum(parts, off)[token];
      glide(cells.map((_, i) => Number(!off.includes(i + 1))), (level) => {
        const lines = whole.flatMap((all, c) => {
          const y = top + 10 + c * ROW;
          const mine = parts.map((part) => part[token][c]);
          const full = [-1, 1].map((sign) => mine.reduce((far, a) => far + (a * sign > 0 ? a : 0), 0));
          const ends = [0, 0];
          let now = 0;
          const pieces = mine.map((a, i) => {
            const side = a < 0 ? 0 : 1;
            const size = a * level[i];
            const from = zero + unit * (a < 0 ? ends[0] + size : ends[1]);
            ends[side] += size;
            now += size;
            const across = Math.abs(size) * unit;
            const piece = s(
              "g",
              { "data-part": "piece", "data-head": i + 1, "data-number": c, "data-amount": digits(off.includes(i + 1) ? 0 : a) },
              s("rect", { x: from.toFixed(2), y, width: across.toFixed(2), height: BAR, fill: "var(--fig-output)", "fill-opacity": i % 2 ? 0.5 : 0.3, stroke: "var(--fig-paper)" }),
            );
            if (across > 11) piece.append(text(String(i + 1), { x: from + across / 2, y: y + 12.5 }));
            return piece;
          });
          const tick = (/** @type {number} */ x, /** @type {any} */ props) => s("path", { d: `M ${(zero + unit * x).toFixed(2)} ${y - 4} v ${BAR + 8}`, fill: "none", ...props });
          return [
            // What it would be with every head on.
            ...(off.length ? [s("rect", { x: zero + unit * full[0], y, width: unit * (full[1] - full[0]), height: BAR, ...dashed }), tick(all, dashed)] : []),
            ...pieces,
            tick(now, { stroke: "var(--fig-ink)", "stroke-width": 3.5, "data-part": "total", "data-number": c, "data-amount": digits(sumOf[c]) }),
            s("text", { x: 0, y: y + 13, "font-size": 14, "font-style": "italic", fill: "var(--fig-ink)" }, "o", s("tspan", { "font-size": 11, dy: 3, "font-style": "normal" }, String(c + 1))),
            text(fmt(now), { x: wide, y: y + 13, "text-anchor": "end", "font-size": 13, "font-weight": 600 }),
          ];
        });
        bars.replaceChildren(
          text(few ? "Output: the sum of the heads’ parts" : `Output for “${tokens[token]}”: the sum (mark) of what each head adds, or, left of the line, takes away`, {
            x: 0, y: top - 2, "text-anchor": "start", fill: "var(--fig-quiet)",
          }),
          ...lines,
          s("path", { d: `M ${zero} ${top + 5} V ${top + 8 + ROW * numbers}`, stroke: "var(--fig-ink)" }),
        );
        const under = cells.find(({ g }) => g.matches(":hover, :focus"));
        if (under) hot(Number(under.g.dataset.head), true);
      });
    }

    /** @param {State} state */
    function fillSum({ tokens, token, off, weights, parts }) {
      fillLooks(["head", ...tokens], weights.map((rows, i) => [`head ${i + 1}`, ...shades(rows[token])]), tokens, token);
      const lines = parts.map((part, i) => [`head ${i + 1}`, off.includes(i + 1) ? "off" : "on", ...part[token].map(digits)]);
      const names = parts[0][0].map((_, c) => `o${c + 1}`);
      more.replaceChildren(
        table("parts", ["part of", "is", ...names], [...lines, ["sum of those on", "", ...sum(parts, off)[token].map(digits)]], { caption: "What each head adds to the output", bold: lines.length }),
      );
    }

    const shades = (/** @type {number[]} */ row) =>
      row.map((w) => {
        const td = h("td", {}, digits(w));
        shade(td, w);
        return td;
      });
    const fillLooks = (/** @type {string[]} */ head, /** @type {any[][]} */ rows, /** @type {string[]} */ tokens, /** @type {number} */ token) =>
      numbers.replaceChildren(table("numbers", head, rows, { caption: `Where “${tokens[token]}” (word ${token + 1}) looks` }));

    /**
     * Heads side by side, words from top to bottom, and below each head the wire to the keys and values that it uses.
     * @param {State} state
     */
    function drawShare({ n, m, tokens, token, weights }) {
      const few = wide < 560;
      const names = 4 + 8.5 * Math.max(...tokens.map((word) => short(word).length)); // where they end
      const left = names + (few ? 10 : -24); // of the heads; the arcs of the last one reach beyond its place
      const span = wide - left - (few ? 6 : 28);
      const across = span / n;
      const tall = few ? 24 : 30; // a phone shows the question and all of the drawing
      const at = (/** @type {number} */ i) => 10 + i * tall;
      const [top, low] = [tokens.length * tall + 20, tokens.length * tall + 82]; // of query heads, of keys and values
      const bulge = Math.min(across - (few ? 11 : 24), 96);
      const middle = (/** @type {number} */ i) => left + (i + 0.5) * across;
      const half = Math.min(16, across / 2 - 1);
      sized(low + 40);
      plane.setAttribute("aria-label", `${count(n, "query head")}, each with arcs from “${tokens[token]}” to what it looks at, wired to ${count(m, "key and value head")}`);
      renew(
        looks,
        ...tokens.map((word, j) => text(short(word), { x: names, y: at(j) + 4, "text-anchor": "end", "font-size": 13, "font-weight": j === token ? 700 : 400 })),
        ...weights.map((rows, i) => s("g", { "data-key": i }, ...arcs(rows, token, { at, tall: bulge * 0.9, put: (u, v) => [middle(i) + v, u], few: true }))),
        ...[["Q", 0, top + 5, "query"], ["K", -14, low + 13, "key"], ["V", 0, low + 13, "value"]].map(([name, x, y, role]) =>
          text(String(name), { x: names + Number(x), y, "text-anchor": "end", "font-size": 14, fill: `var(--fig-${role})`, "font-weight": 700 }),
        ),
      );
      if (!plane.contains(looks)) plane.replaceChildren(looks, wires);
      const queries = weights.flatMap((_, i) => [
        s("circle", { cx: middle(i), cy: top, r: Math.min(11, half), fill: "var(--fig-paper)", stroke: "var(--fig-query)", "stroke-width": 2.5 }),
        text(String(i + 1), { x: middle(i), y: top + 4.5 }),
      ]);
      const goal = weights.map((_, i) => (Math.floor((i * m) / n) + 0.5) / m); // share of the way across
      glide(goal, (now) => {
        const x = now.map((share) => left + share * span);
        wires.replaceChildren(
          ...x.map((to, i) => s("path", { d: `M ${middle(i)} ${top + 11} C ${middle(i)} ${low - 18}, ${to.toFixed(1)} ${top + 30}, ${to.toFixed(1)} ${low}`, fill: "none", stroke: "var(--fig-ink)", "stroke-opacity": 0.5, "stroke-width": 1.5, "data-part": "wire" })),
          ...queries,
          ...x.map((to, i) =>
            s(
              "g",
              { "data-part": "cache", "data-which": Math.floor((i * m) / n) + 1 },
              s("rect", { x: to - half, y: low, width: half, height: 16, fill: "var(--fig-key)" }),
              s("rect", { x: to, y: low, width: half, height: 16, fill: "var(--fig-value)" }),
            ),
          ),
          ...Array.from({ length: m }, (_, i) => text(String(i + 1), { x: left + ((i + 0.5) * span) / m, y: low + 32 })),
        );
      });
    }

    /** @param {State} state */
    function fillShare({ n, m, tokens, token, width, weights, errors, error, overlap, ownOverlap }) {
      const looks = weights.map((rows, head) => [`head ${head + 1}`, String(Math.floor((head * m) / n) + 1), ...shades(rows[token]), digits(errors[head])]);
      fillLooks(["head", "K/V head", ...tokens, "error"], looks, tokens, token);
      more.replaceChildren(
        table(
          "sums",
          ["this layer", "now", "unshared"],
          [
            ["output error", digits(error), "0.0000"],
            ["heads look alike", ...[overlap, ownOverlap].map((share) => (n > 1 ? digits(share) : "–"))], // one head has no other
            ["keys, values a token", String((2 * width * m) / n), String(2 * width)],
          ],
          { caption: "What sharing loses, and what it saves" },
        ),
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { n, m, token, off } = read();
      const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(model.get(key))}, dtype=torch.float64)`;
      const shares = m === n ? "" : `

def share(t):
    return t.unflatten(0, (kv_heads, -1)).mean(1).repeat_interleave(heads // kv_heads, 0)

`;
      const ending = sums
        ? `parts = outputs @ w_o.unflatten(0, (heads, -1))
off = ${JSON.stringify(off)}  # numbered from 1
print(weights[:, token])
print("output", sum((part for at, part in enumerate(parts, 1) if at not in off), 0 * parts[0])[token].tolist())
`
        : `full = attention(q, k, v)
print(weights[:, token])
print("error", ((outputs - full).norm() / full.norm()).item())
`;
      return `import torch

from attnlab import attention

x = ${t("x")}  # ${model.get("tokens").join(", ")}
w_q = ${t("w_q")}
w_k = ${t("w_k")}
w_v = ${t("w_v")}
${sums ? `w_o = ${t("w_o")}\n` : ""}heads, kv_heads, token = ${n}, ${m}, ${token}
q, k, v = ((x @ w).unflatten(-1, (heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))
${shares}
outputs, weights = attention(q, ${shares ? "share(k), share(v)" : "k, v"}, need_weights=True)
${ending}`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
