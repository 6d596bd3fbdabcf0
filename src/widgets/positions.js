// Positions: shift a query and a key along a line, together or alone, and shuffle a sentence, under six schemes.
//
// For tests (data-part): scheme (radio group), handle (g, role slider; data-which "query", "key" or "both"),
// line (svg), token (buttons of the sentence, in order), shuffle, restore, numbers (table: place, token, output 1,
// output 2), curve (table: distance, a column for each query position), status.
import { grip, labelled } from "./ui/controls.js";
import { choices, draggable, fmt, h, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { SCHEMES, attendInOrder, score, shuffled, snippet } from "./math/positions.js";
import { PLANE, drawOutputs } from "./ui/outputs.js";
import { strip, table } from "./ui/tables.js";

const LAST = 31; // the line of positions goes from 0 to this
const FAR = 12; // the curve shows distances from -FAR to FAR
const [WIDE, HIGH] = [300, 346];
const [TOP, BOTTOM] = [172, 306]; // of the curve
const NAMES = { none: "none", sinusoidal: "sinusoids", learned: "learned", rotary: "RoPE", alibi: "ALiBi", relative: "relative bias" };
const px = (/** @type {number} */ position) => 20 + (position * (WIDE - 40)) / LAST;
const dx = (/** @type {number} */ distance) => 34 + ((distance + FAR) * (WIDE - 52)) / (2 * FAR);
const range = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const place = (/** @type {number} */ x) => Math.min(Math.max(Math.round(x), 0), LAST);

export default figure({
  name: "positions",
  title: "Positions",
  keys: ["scheme", "m", "n", "order", "asks", "answers"],
  setup({ model, body, say, set, signal }) {
    const schemes = choices({
      label: "Scheme",
      part: "scheme",
      value: model.get("scheme"),
      options: SCHEMES.map((value) => ({ value, text: /** @type {any} */ (NAMES)[value] })),
      onChange: (value) => set({ scheme: value }),
    });
    const line = s("svg", {
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      role: "group",
      "aria-label": "A line of positions with a query and a key to shift, and the score as a curve over their distance",
      "data-part": "line",
      style: "flex: 1 1 18rem; min-width: 0; max-width: 25rem; height: auto; display: block",
    });
    const plane = s("svg", {
      viewBox: `0 0 ${PLANE} ${PLANE}`,
      role: "img",
      style: "flex: 1 1 13rem; min-width: 0; max-width: 17rem; height: auto; display: block",
    });
    const chips = h("div", { class: "attnlab-choices", role: "group", "aria-label": "The sentence; pick two words to swap them" });
    const button = (/** @type {string} */ text, /** @type {string} */ part, /** @type {() => void} */ click) =>
      h("button", { type: "button", "data-part": part, on: { click } }, text);
    const [numbers, curve] = ["Outputs of the sentence", "Scores over the distance"].map(strip);
    body.append(
      labelled("Positions", schemes),
      h("div", { class: "attnlab-row", style: "align-items: flex-start" }, line, h("div", { style: "flex: 1 1 14rem; min-width: 0" },
        h("p", { class: "attnlab-label" }, "The sentence: pick two words to swap them"),
        h("div", { class: "attnlab-row", style: "margin-top: .4rem" }, chips),
        h("div", { class: "attnlab-row" },
          button("Shuffle", "shuffle", () => set({ order: shuffled(model.get("order")) })),
          button("As written", "restore", () => set({ order: range(0, model.get("order").length - 1) })),
        ),
        h("p", { class: "attnlab-label" }, "Outputs (two numbers each); a ring marks where one was as written"),
        plane,
      )),
      numbers,
      h("details", {}, h("summary", {}, "Scores over the distance"), curve),
    );

    let picked = -1;
    const start = { m: model.get("m"), n: model.get("n") };
    /** @type {{ low: number, high: number } | undefined} */
    let scale;
    /** @type {Record<string, number[]>} */
    const boxes = {};
    const drawn = s("g");
    const handles = { query: handle("query"), key: handle("key"), both: handle("both") };
    line.append(drawn, ...Object.values(handles));

    /**
     * Move what was asked for, and stop both when one of them meets an end.
     * @param {string} which
     * @param {number} to where the query goes, or the key
     */
    function moveTo(which, to) {
      const [m, n] = [model.get("m"), model.get("n")];
      if (which === "query") set({ m: place(to) });
      else if (which === "key") set({ n: place(to) });
      else {
        const step = Math.min(Math.max(Math.round(to) - m, -Math.min(m, n)), LAST - Math.max(m, n));
        if (step) set({ m: m + step, n: n + step });
      }
    }

    /** @param {string} which */
    function handle(which) {
      const shape = {
        query: () => s("path", { d: "M 0 -11 L 11 0 L 0 11 L -11 0 Z", fill: "var(--fig-query)" }),
        key: () => s("circle", { r: 10, fill: "var(--fig-key)" }),
        both: () => s("rect", { y: -15, height: 30, rx: 9, fill: "var(--fig-tint)", stroke: "var(--fig-quiet)" }),
      }[which];
      const g = grip(
        { which, limits: [0, LAST], style: "cursor: grab" },
        which === "both" ? "" : s("circle", { r: 19, fill: "transparent" }), // room for a thumb
        /** @type {any} */ (shape)(),
        s("text", { y: { query: -16, key: 25, both: 5 }[which], "text-anchor": "middle", "font-size": 14, fill: "var(--fig-ink)" }),
      );
      let held = 0; // where in the bar the pointer went down
      const position = (/** @type {MouseEvent} */ event) => ((spot(line, event)[0] - 20) / (WIDE - 40)) * LAST;
      g.addEventListener("pointerdown", (event) => (held = which === "both" ? position(/** @type {any} */ (event)) - model.get("m") : 0), { signal });
      draggable(g, signal, (event) => moveTo(which, position(event) - held));
      g.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -LAST, End: LAST }[/** @type {KeyboardEvent} */ (event).key];
        if (!step) return;
        event.preventDefault();
        moveTo(which, model.get(which === "key" ? "n" : "m") + step);
      });
      return g;
    }

    function read() {
      const get = (/** @type {string} */ key) => model.get(key);
      const [tokens, order, m, n] = [get("tokens"), get("order"), get("m"), get("n")];
      const at = { asks: get("asks"), answers: get("answers") };
      if (!Array.isArray(order) || order.length !== tokens.length || !range(0, tokens.length - 1).every((i) => order.includes(i))) {
        throw new Error(`order must hold each of 0 to ${tokens.length - 1} once, got ${order}.`);
      }
      for (const [name, value] of Object.entries({ m, n })) {
        if (!Number.isInteger(value) || value < 0 || value > LAST) throw new Error(`${name} must be a whole number from 0 to ${LAST}, got ${value}.`);
      }
      for (const [name, value] of Object.entries(at)) {
        if (!tokens[value]) throw new Error(`${name} must be from 0 to ${tokens.length - 1}, got ${value}.`);
      }
      const given = Object.fromEntries(["x", "wq", "wk", "wv", "learned", "relative", "slope", "base"].map((key) => [key, get(key)]));
      const head = /** @type {import("./math/positions.js").Head} */ ({ ...given, scheme: get("scheme") });
      const names = tokens.map((/** @type {string} */ t, /** @type {number} */ i) => {
        const twice = tokens.filter((/** @type {string} */ u) => u === t).length > 1;
        const before = tokens.slice(0, i).filter((/** @type {string} */ u) => u === t).length;
        return t + (twice ? "₁₂₃₄₅₆₇₈₉"[before % 9] : "");
      });
      const ask = (/** @type {number} */ i, /** @type {number} */ j) => score(head, head.x[at.asks], head.x[at.answers], i, j);
      return { head, tokens, order, m, n, names, ask, ...at };
    }

    /**
     * One scale of scores for every scheme, so that nothing jumps but what changed.
     * @param {ReturnType<typeof read>} now
     */
    function measure({ head, asks, answers }) {
      const all = SCHEMES.map((scheme) => ({ ...head, scheme })).flatMap((one) =>
        range(0, LAST).flatMap((m) => range(Math.max(m - FAR, 0), Math.min(m + FAR, LAST)).map((n) => score(one, one.x[asks], one.x[answers], m, n))),
      );
      return { low: Math.floor(Math.min(...all)), high: Math.ceil(Math.max(...all)) };
    }

    /**
     * The ends of the plane: where a scheme's outputs go in a few orders of the sentence.
     * @param {ReturnType<typeof read>} now
     */
    function around({ head, order }) {
      const turns = order.map((/** @type {number} */ _, /** @type {number} */ i) => [...order.slice(i), ...order.slice(0, i)]);
      const outs = [...turns, ...turns.map((t) => t.slice().reverse())].flatMap((o) => attendInOrder(head, o).output);
      return [0, 1].flatMap((d) => [Math.min(...outs.map((o) => o[d])), Math.max(...outs.map((o) => o[d]))]);
    }

    function update() {
      const now = read();
      const { head, order, m, n, names, ask, asks, answers } = now;
      const value = ask(m, n); // an unknown scheme is said here
      scale ??= measure(now);
      boxes[head.scheme] ??= around(now);
      select(schemes, head.scheme);
      drawLine(now, scale, value);
      const { output } = attendInOrder(head, order);
      const written = attendInOrder(head, range(0, order.length - 1)).output;
      const moved = order.map((token, p) => Math.hypot(...output[p].map((v, d) => v - written[token][d])));
      drawOutputs(plane, order.map((/** @type {number} */ token, /** @type {number} */ p) => ({ name: names[token], at: output[p], from: written[token] })), boxes[head.scheme]);
      // Kept while they fit, so that the focus stays on the chip that was pressed.
      if (chips.childElementCount !== order.length) chips.replaceChildren(...order.map((_, p) => button("", "token", () => pick(p))));
      [...chips.children].forEach((chip, p) => {
        chip.textContent = `${p} ${names[order[p]]}`;
        chip.setAttribute("aria-pressed", String(p === picked));
        // All as wide as the longest: none moves from under the pointer when words swap.
        /** @type {HTMLElement} */ (chip).style.minWidth = `calc(${Math.max(...names.map((/** @type {string} */ name) => name.length)) + 1}ch + 1.6rem)`;
        /** @type {HTMLElement} */ (chip).style.outline = p === picked ? "3px solid var(--fig-query)" : "";
      });
      const outputs = order.map((/** @type {number} */ token, /** @type {number} */ p) => [String(p), names[token], ...output[p].map((v) => fmt(v, 4))]);
      numbers.replaceChildren(table("numbers", ["place", "token", "output 1", "output 2"], outputs));
      const starts = [m, ...[0, 10, 21, LAST].filter((at) => at !== m)];
      const scores = range(-FAR, FAR).map((d) => [fmt(d, 0), ...starts.map((at) => (at + d < 0 || at + d > LAST ? "" : fmt(ask(at, at + d), 4)))]);
      curve.replaceChildren(table("curve", ["key minus query", ...starts.map((at) => `query at ${at}`)], scores));
      const here = range(0, LAST).filter((at) => at + n - m >= 0 && at + n - m <= LAST).map((at) => ask(at, at + n - m));
      const [low, high] = [Math.min(...here), Math.max(...here)];
      const shifted = m !== start.m && n !== start.n; // what a shift does is said after one: the page asks first
      const shift = here.length < 2 ? " There is no room to shift both." : !shifted ? "" : high - low < 1e-9 ? " Shift both, and it stays." : ` Shift both, and it runs from ${fmt(low)} to ${fmt(high)}.`;
      const same = twins(names, now.tokens, order, output);
      const shuffle = order.every((t, p) => t === p) ? "" : Math.max(...moved) < 1e-9 ? " The new order changed no token's output." : ` The new order moved an output by up to ${fmt(Math.max(...moved))}.`;
      say(`${names[asks]} at ${m} asks ${names[answers]} at ${n}, distance ${fmt(n - m, 0)}: score ${fmt(value)}.${shift}${same}${shuffle}`);
    }

    /** @param {number} p */
    function pick(p) {
      const order = model.get("order").slice();
      const first = picked;
      picked = first < 0 ? p : -1;
      if (first >= 0) [order[first], order[p]] = [order[p], order[first]];
      set({ order });
    }

    /**
     * @param {ReturnType<typeof read>} now
     * @param {{ low: number, high: number }} scale
     * @param {number} value
     */
    function drawLine({ m, n, names, asks, answers, ask }, { low, high }, value) {
      const y = (/** @type {number} */ score) => BOTTOM - ((score - low) / (high - low)) * (BOTTOM - TOP);
      const text = (/** @type {number} */ x, /** @type {number} */ at, /** @type {string} */ words, anchor = "middle", fill = "var(--fig-quiet)") =>
        s("text", { x, y: at, "text-anchor": anchor, "font-size": 13, fill }, words);
      const path = (/** @type {number} */ from) =>
        range(Math.max(-FAR, -from), Math.min(FAR, LAST - from)).map((d, i) => `${i ? "L" : "M"} ${dx(d).toFixed(1)} ${y(ask(from, from + d)).toFixed(1)}`).join(" ");
      const every = Math.ceil((high - low) / 5);
      const ticks = range(low, high).filter((t) => t % every === 0);
      drawn.replaceChildren(
        s("path", { d: `M ${px(0)} 70 H ${px(LAST)} ${range(0, LAST).map((p) => `M ${px(p)} ${p % 10 ? 67 : 63} V ${p % 10 ? 73 : 77}`).join(" ")}`, stroke: "var(--fig-quiet)", fill: "none" }),
        ...[0, 10, 20, 30].map((p) => text(px(p), 92, String(p))),
        ...ticks.map((t) => s("path", { d: `M 34 ${y(t)} H ${WIDE - 18}`, stroke: "var(--fig-line)" })),
        ...ticks.map((t) => text(28, y(t) + 4, fmt(t, 0), "end")),
        ...range(-3, 3).map((i) => text(dx(4 * i), BOTTOM + 17, fmt(4 * i, 0))),
        text(dx(0), BOTTOM + 35, "distance: key minus query"),
        text(4, TOP - 12, "score (dashed: query at 0, 10, 21, 31)", "start"),
        ...[0, 10, 21, LAST].map((from) => s("path", { d: path(from), fill: "none", stroke: "var(--fig-quiet)", "stroke-width": 1.2, "stroke-dasharray": "4 3" })),
        s("path", { d: path(m), fill: "none", stroke: "var(--fig-query)", "stroke-width": 2.5 }),
      );
      if (Math.abs(n - m) <= FAR) {
        drawn.append(
          s("path", { d: `M ${dx(n - m)} ${BOTTOM} V ${y(value)}`, stroke: "var(--fig-key)", "stroke-dasharray": "2 3" }),
          s("circle", { cx: dx(n - m), cy: y(value), r: 6, fill: "var(--fig-key)", stroke: "var(--fig-paper)", "stroke-width": 2 }),
          text(Math.min(Math.max(dx(n - m), 50), WIDE - 40), y(value) - 11, fmt(value), "middle", "var(--fig-ink)"),
        );
        // A halo: dashed curves may run behind the number.
        const halo = { stroke: "var(--fig-paper)", "stroke-width": 4, "paint-order": "stroke" };
        for (const [key, v] of Object.entries(halo)) /** @type {Element} */ (drawn.lastElementChild).setAttribute(key, String(v));
      }
      const put = (/** @type {SVGElement} */ g, /** @type {number} */ x, /** @type {number} */ at, /** @type {string} */ words, /** @type {string} */ label, /** @type {number} */ now, /** @type {string} */ spoken) => {
        g.setAttribute("transform", `translate(${x.toFixed(1)} ${at})`);
        /** @type {SVGElement} */ (g.lastElementChild).textContent = words;
        for (const [key, v] of Object.entries({ "aria-label": label, "aria-valuenow": now, "aria-valuetext": spoken })) g.setAttribute(key, String(v));
      };
      const near = (/** @type {number} */ x) => Math.min(Math.max(x, 34), WIDE - 34);
      put(handles.query, px(m), 34, names[asks], `query of ${names[asks]}`, m, `position ${m}`);
      put(handles.key, px(n), 106, names[answers], `key of ${names[answers]}`, n, `position ${n}`);
      for (const [g, p] of /** @type {[SVGElement, number][]} */ ([[handles.query, m], [handles.key, n]])) {
        /** @type {SVGElement} */ (g.lastElementChild).setAttribute("x", (near(px(p)) - px(p)).toFixed(1));
      }
      const width = Math.max(Math.abs(px(n) - px(m)), 44);
      const middle = Math.min(Math.max((px(m) + px(n)) / 2, width / 2), WIDE - width / 2);
      put(handles.both, middle, 70, fmt(n - m, 0), "query and key together", m, `query at ${m}, key at ${n}`);
      const bar = /** @type {SVGElement} */ (handles.both.querySelector("rect"));
      bar.setAttribute("x", String(-width / 2));
      bar.setAttribute("width", String(width));
    }

    return { update, pytorch: () => snippet(model.get.bind(model)), svg };

    function svg() {
      const part = (/** @type {SVGElement} */ from, /** @type {Record<string, number>} */ box) => {
        const copy = /** @type {SVGElement} */ (from.cloneNode(true));
        for (const [key, v] of Object.entries(box)) copy.setAttribute(key, String(v));
        copy.removeAttribute("style");
        return copy;
      };
      return standalone(
        s("svg", { viewBox: `0 0 ${WIDE + PLANE + 20} ${HIGH}` },
          part(line, { x: 0, y: 0, width: WIDE, height: HIGH }),
          part(plane, { x: WIDE + 10, y: 50, width: PLANE, height: PLANE }),
        ),
      );
    }
  },
});

/**
 * Say how far apart the outputs of a word are that stands twice.
 * @param {string[]} names
 * @param {string[]} tokens
 * @param {number[]} order
 * @param {number[][]} output
 */
function twins(names, tokens, order, output) {
  const first = tokens.findIndex((t, i) => tokens.indexOf(t, i + 1) > 0);
  if (first < 0) return "";
  const second = tokens.indexOf(tokens[first], first + 1);
  const [a, b] = [first, second].map((token) => output[order.indexOf(token)]);
  const gap = Math.hypot(a[0] - b[0], a[1] - b[1]);
  return gap < 1e-9 ? ` ${names[first]} and ${names[second]} get the same output.` : ` The outputs of ${names[first]} and ${names[second]} lie ${fmt(gap)} apart.`;
}
