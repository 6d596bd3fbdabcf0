// The drawings of the decoder: the cache with what a pass reads, and the next words with what is kept of them.
import { fmt, s } from "./dom.js";

/** @typedef {import("../math/decoder.js").Row} Row */

const LABEL = 68;
const PITCH = 19;
const TOP = 38;
/** A number at least this large gets this much ink. */
const SHADES = [[1.6, 0.95], [0.9, 0.6], [0.4, 0.33], [0, 0.12]];
/** The bars of bytes end here. */
const FULL = 70_000;
const KINDS = /** @type {const} */ ([["weights", "quiet"], ["cache", "key"], ["draft", "query"]]);

/**
 * @param {string} words
 * @param {number} x
 * @param {number} y
 * @param {Record<string, any>} [look]
 */
const text = (words, x, y, look = {}) => s("text", { x, y, "font-size": 14, fill: "var(--fig-ink)", ...look }, words);
const kilo = (/** @type {number} */ bytes) => fmt(bytes / 1000, 1);

/**
 * The cache, a row a word: keys and values of every layer and head, number by number; below, what the pass reads.
 * @param {{ wide: number, names: string[], rows: Row[], from: number, dropped: number, room: number, heads: number,
 *   shared: number, reads: Record<string, number>, words: number }} given `from`: the first row that this pass wrote;
 *   `dropped`: the first that is forgotten again; `heads`: of the model, of which `shared` keep keys and values
 */
export function drawCache({ wide, names, rows, from, dropped, room, heads, shared, reads, words }) {
  const layers = rows[0].keys.length;
  const numbers = rows[0].keys[0].length / shared; // of a head
  const right = 30;
  const unit = (wide - LABEL - right - 14 * layers + 10) / (2 * layers * heads * numbers);
  const block = heads * numbers * unit;
  const x = (/** @type {number} */ layer, /** @type {number} */ which) => LABEL + layer * (2 * block + 14) + which * (block + 4);
  const y = (/** @type {number} */ row) => TOP + row * PITCH;
  const drawn = [];
  for (let l = 0; l < layers; l++) {
    drawn.push(text(`layer ${l + 1}`, x(l, 0) + block + 2, 13, { "text-anchor": "middle", "font-size": 13, fill: "var(--fig-quiet)" }));
    ["key", "value"].forEach((role, which) => {
      drawn.push(
        text(role === "key" ? "K" : "V", x(l, which) + block / 2, 31, { "text-anchor": "middle", "font-weight": 700, fill: `var(--fig-${role})` }),
        s("rect", { x: x(l, which) - 1, y: TOP - 2, width: block + 2, height: room * PITCH, fill: "none", stroke: "var(--fig-line)" }),
      );
      rows.forEach((row, i) => {
        const values = (role === "key" ? row.keys : row.values)[l];
        const inked = SHADES.map(() => "");
        values.forEach((value, d) => {
          const gap = d % numbers === numbers - 1 ? 1 : 0; // heads stand apart
          inked[SHADES.findIndex(([least]) => Math.abs(value) >= least)] += `M${(x(l, which) + d * unit).toFixed(2)} ${y(i)}h${(unit - gap).toFixed(2)}v15h-${(unit - gap).toFixed(2)}z`;
        });
        const fade = i >= dropped ? 0.25 : 1;
        inked.forEach((d, shade) => d && drawn.push(s("path", { d, fill: `var(--fig-${role})`, "fill-opacity": SHADES[shade][1] * fade })));
      });
    });
  }
  rows.forEach((_, i) => {
    const gone = i >= dropped;
    const look = gone ? { fill: "var(--fig-quiet)", "text-decoration": "line-through" } : i >= from ? { "font-weight": 700 } : {};
    drawn.push(text(names[i], LABEL - 6, y(i) + 12, { "text-anchor": "end", "font-size": 13, "data-row": gone ? "dropped" : i >= from ? "new" : "kept", ...look }));
  });
  const end = x(layers - 1, 1) + block;
  drawn.push(
    s("rect", { x: LABEL - 3, y: y(from) - 2.5, width: end - LABEL + 6, height: (rows.length - from) * PITCH, fill: "none", stroke: "var(--fig-output)", "stroke-width": 2.5, rx: 3 }),
    s("path", { d: `M${end + 7} ${y(0)}h4V${y(rows.length) - 4}h-4`, fill: "none", stroke: "var(--fig-query)", "stroke-width": 2 }),
    s("rect", { x: LABEL, y: y(0) - 1, width: end - LABEL, height: rows.length * PITCH - 2, fill: "var(--fig-query)", "fill-opacity": 0, "data-sweep": "" }),
    text("read", 0, 0, { transform: `translate(${end + 16} ${(y(0) + y(rows.length) - 4) / 2}) rotate(90)`, "text-anchor": "middle", "font-size": 13, fill: "var(--fig-query)" }),
  );
  const total = KINDS.reduce((sum, [kind]) => sum + reads[kind], 0);
  let top = y(room) + 20;
  const piece = (/** @type {readonly string[]} */ [kind, role], /** @type {Record<string, any>} */ place) =>
    s("rect", { ...place, fill: `var(--fig-${role})`, "fill-opacity": kind === "weights" ? 0.45 : 0.9 });
  for (const [label, among] of /** @type {[string, number][]} */ ([["A pass reads ", 1], ["For each word it writes ", words]])) {
    drawn.push(s("text", { x: 0, y: top, "font-size": 14, fill: "var(--fig-ink)" }, label, s("tspan", { "font-weight": 700 }, `${kilo(total / among)} KB`)));
    let x = 0;
    for (const kind of KINDS) {
      const width = (wide * reads[kind[0]]) / among / FULL;
      drawn.push(piece(kind, { x: x.toFixed(2), y: top + 6, width: width.toFixed(2), height: 12, "data-reads": "" }));
      x += width;
    }
    top += 40;
  }
  let left = 0;
  for (const [kind, role] of KINDS.filter(([kind]) => reads[kind])) {
    const label = `${kind} ${kilo(reads[kind])}`;
    const long = 28 + 7 * label.length;
    if (left && left + long > wide + 8) [left, top] = [0, top + 18];
    drawn.push(
      piece([kind, role], { x: left, y: top - 10, width: 10, height: 10 }),
      text(label, left + 14, top, { "font-size": 13, fill: "var(--fig-quiet)" }),
    );
    left += long;
  }
  return { drawn, high: top + 6 };
}

/**
 * Let a pass be seen to read: over all rows of the cache, and along the bar of bytes. Nothing moves for who asked for that.
 * @param {SVGElement} cache
 */
export function sweep(cache) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const [narrow, wide] = ["scaleX(0)", "scaleX(1)"];
  for (const el of cache.querySelectorAll("[data-sweep], [data-reads]")) {
    const over = el.hasAttribute("data-sweep");
    /** @type {SVGElement} */ (el).style.transformOrigin = over ? `${el.getAttribute("x")}px 0` : "0 0";
    const ink = over ? { fillOpacity: 0.3 } : {};
    el.animate([{ transform: narrow, ...ink }, { transform: wide, ...ink, offset: 0.8 }, { transform: wide }], { duration: 600, easing: "ease-out" });
  }
}

/**
 * The next words, the likeliest first: what each is drawn with, and what it was before.
 * @param {{ wide: number, words: string[], order: number[], before: number[], after: number[], draft: number[] | null,
 *   written: number, how: string }} given `before`: without the rules; `draft`: what the draft gives, if it drafted
 *   here; `written`: the word that this pass writes here, and how it came
 */
export function drawWords({ wide, words, order, before, after, draft, written, how }) {
  const [right, end] = wide < 330 ? [68, 48] : [116, 42]; // beside the bars, and where the share ends in it
  const long = wide - LABEL - right;
  const most = 10;
  const listed = order.slice(0, most);
  if (!listed.includes(written)) listed[most - 1] = written;
  const others = order.filter((i) => !listed.includes(i));
  const drawn = [];
  let [left, top] = [0, 0];
  const legend = draft
    ? [["in both: kept from the draft", "query", 0.5], ["the model’s alone: drawn anew", "output", 0.45], ["the draft’s", "", 0]]
    : [["drawn from", "output", 0.45], ["before the rules", "", 0]];
  for (const [label, role, opacity] of /** @type {[string, string, number][]} */ (legend)) {
    const width = 30 + 7 * label.length;
    if (left && left + width > wide) [left, top] = [0, top + 19];
    const look = role ? { fill: `var(--fig-${role})`, "fill-opacity": opacity } : { fill: "none", stroke: "var(--fig-ink)", "stroke-dasharray": draft ? "3 2" : "none" };
    drawn.push(s("rect", { x: left + 1, y: top + 3, width: 11, height: 10, ...look }), text(label, left + 17, top + 13, { "font-size": 13, fill: "var(--fig-quiet)" }));
    left += width;
  }
  top += 24;
  const share = (/** @type {number} */ p) => (p === 0 ? "cut" : p < 0.005 ? "< 1 %" : `${fmt(100 * p, 0)} %`);
  const line = (/** @type {string} */ name, /** @type {number[]} */ which, /** @type {number} */ row) => {
    const at = top + 21 * row;
    const sum = (/** @type {number[]} */ p) => which.reduce((total, i) => total + p[i], 0);
    const [full, was] = [sum(after), sum(draft ?? before)];
    const both = draft ? which.reduce((total, i) => total + Math.min(after[i], draft[i]), 0) : 0;
    const [on, cut] = [which.includes(written) && which.length === 1, full === 0];
    const bar = (/** @type {number} */ from, /** @type {number} */ to, /** @type {Record<string, any>} */ look) =>
      s("rect", { x: (LABEL + long * from).toFixed(2), y: at + 3, width: Math.max(long * (to - from), 0).toFixed(2), height: 14, ...look });
    drawn.push(
      text(name, LABEL - 6, at + 15, { "text-anchor": "end", ...(on ? { "font-weight": 700 } : cut ? { fill: "var(--fig-quiet)", "text-decoration": "line-through" } : {}) }),
      bar(0, both, { fill: "var(--fig-query)", "fill-opacity": 0.5 }),
      bar(both, full, { fill: "var(--fig-output)", "fill-opacity": 0.45 }),
      bar(0, was, { fill: "none", stroke: "var(--fig-ink)", "stroke-dasharray": draft ? "3 2" : "none", "stroke-opacity": draft ? 1 : 0.6 }),
      text(share(full), wide - right + end, at + 15, { "text-anchor": "end", ...(on ? { "font-weight": 700 } : cut ? { fill: "var(--fig-quiet)" } : {}) }),
    );
    if (on) drawn.push(text(right > 100 ? `◀ ${how}` : "◀", wide - right + end + 5, at + 15, { fill: "var(--fig-output)", "font-weight": 700, "data-drawn": words[written] }));
  };
  listed.forEach((i, row) => line(words[i], [i], row));
  line("others", others, most);
  return { drawn, high: top + 21 * (most + 1) + 4 };
}
