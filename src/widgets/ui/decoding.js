// The drawing of the decoder, in lanes: a column a word. The draft's words, the text, the cache, the passes, and what they read.
import { fmt, halo, s } from "./dom.js";
import { MOST } from "../math/decoder.js";

/**
 * @typedef {import("../math/decoder.js").Pass} Pass
 * @typedef {{ name: string, from: number, to: number }} Group the columns that a pass added to the cache
 */

/** A number at least this large gets this much ink. */
const SHADES = [[1.6, 0.95], [0.9, 0.6], [0.4, 0.33], [0, 0.12]];
/** The bars of bytes end here. */
const FULL = 70_000;
const KINDS = /** @type {const} */ ([["weights", "quiet"], ["cache", "key"], ["draft", "ink"]]);
const CELL = 4; // of a head
const BAR = 26; // of bytes
const NOTE = 240; // as wide as the words on a pass without a draft, and a little more

const text = (/** @type {string} */ words, /** @type {number} */ x, /** @type {number} */ y, /** @type {Record<string, any>} */ look = {}) =>
  s("text", { x, y, "font-size": 13, fill: "var(--fig-ink)", ...look }, words);
const dashed = { fill: "none", stroke: "var(--fig-ink)", "stroke-dasharray": "4 3" };
const kilo = (/** @type {number} */ bytes) => fmt(bytes / 1000, 1);

/**
 * @param {{ wide: number, words: string[], step: Pass, groups: Group[], heads: number, shared: number,
 *   reads: Record<string, number>, alone: number, unshared: number }} given `words`: those of the text, <start> first, and those that this pass writes;
 *   `groups`: the passes, this one last; `alone`: bytes of
 *   this pass without a draft; `unshared`: with keys and values for each head; `heads`: of the model, of which `shared` keep keys and values
 * @param {string[]} known the vocabulary
 * @returns {{ drawn: SVGElement[], high: number }}
 */
export function drawLanes({ wide, words, step, groups, heads, shared, reads, alone, unshared }, known) {
  const narrow = wide < 480;
  const left = narrow ? 46 : 72;
  const PIN = narrow ? 28 : 30; // the height of a chance of 1
  const pitch = (wide - left) / (MOST + 2);
  const x = (/** @type {number} */ column) => left + column * pitch;
  const { drafted, kept, rows } = step;
  const first = rows.length - drafted.length; // the first drafted column
  const gone = first + kept; // from here the cache forgets again
  const now = groups[groups.length - 1];
  const tall = narrow ? 46 : 17; // of a line of words
  const lane = (/** @type {string} */ name, /** @type {number} */ y, /** @type {Record<string, any>} */ look = {}) => text(name, left - 6, y, { "text-anchor": "end", "font-size": narrow ? 12 : 13, fill: "var(--fig-quiet)", ...look });
  const word = (/** @type {string} */ name, /** @type {number} */ column, /** @type {number} */ y, /** @type {Record<string, any>} */ look = {}) => {
    const place = narrow ? { transform: `translate(${x(column) + pitch / 2 + 4} ${y}) rotate(-90)` } : { transform: `translate(${x(column) + pitch / 2} ${y})`, "text-anchor": "middle" };
    return s("text", { "font-size": name.length < 5 ? 13 : name.length < 7 ? 12 : 11, fill: "var(--fig-ink)", ...place, ...look }, name);
  };
  const drawn = /** @type {SVGElement[]} */ ([]);

  // The draft: each word with its chance, filled, and the random number that asks for it.
  let y = 6;
  if (drafted.length) drawn.push(lane("draft", y + PIN + tall - 3), lane(narrow ? "kept" : "kept with", y + PIN / 2 + 4));
  else if (narrow) drawn.push(lane("draft", y + 20), text("none: a pass writes one word", left + 4, y + 20, { fill: "var(--fig-quiet)" }));
  else {
    // Above the word that it speaks of, on the side where there is room.
    const end = x(first) + NOTE > wide;
    drawn.push(text(end ? "no draft: a pass writes one word ↓" : "↓ no draft: a pass writes one word", x(first) + (end ? 0.6 : 0.4) * pitch, y + PIN + tall - 3, { fill: "var(--fig-quiet)", "text-anchor": end ? "end" : "start" }));
  }
  drafted.forEach((id, i) => {
    const [column, on] = [first + i, i < kept];
    const [at, width] = [x(column) + pitch * 0.2, pitch * 0.6];
    const fade = i > kept ? 0.3 : 1;
    drawn.push(
      s("rect", { x: at, y: y + PIN * (1 - step.keep[i]), width, height: PIN * step.keep[i], fill: "var(--fig-output)", "fill-opacity": 0.45 * fade, "data-keep": step.keep[i].toFixed(4) }),
      s("rect", { x: at, y, width, height: PIN, fill: "none", stroke: "var(--fig-quiet)", "stroke-opacity": fade }),
      ...(i > kept ? [] : [s("circle", { cx: at + width / 2, cy: y + PIN * (1 - step.asked[i]), r: narrow ? 4 : 5, fill: `var(--fig-${on ? "ink" : "paper"})`, stroke: "var(--fig-ink)", "stroke-width": 2, "data-asked": step.asked[i].toFixed(4) })]),
      word(known[id], column, y + PIN + tall - 2, { "data-part": "draft-word", "data-fate": on ? "kept" : i === kept ? "refused" : "dropped", fill: `var(--fig-${on ? "ink" : "quiet"})`, ...(on ? { "font-weight": 700 } : { "text-decoration": "line-through" }) }),
    );
  });
  // On a phone the lane is as high as it must be; where there is room, nothing below moves when a draft comes.
  y += drafted.length || !narrow ? PIN + tall + 8 : 36;

  // The text, as it stands after the pass.
  drawn.push(lane("text", y + tall - 3));
  words.forEach((name, column) => drawn.push(word(name, column, y + tall - 3, column >= first ? { "data-part": "new-word", "font-weight": 700, fill: "var(--fig-output)" } : { "data-part": "old-word" })));
  y += tall + 6;

  // The cache: keys and values of both layers, number by number; heads that are shared leave room.
  const layers = rows[0].keys.length;
  const numbers = rows[0].keys[0].length / shared; // of a head
  const unit = (pitch - 3) / numbers;
  const band = shared * CELL;
  const whole = 2 * layers * (heads * CELL + 3);
  const here = 2 * layers * (band + 3);
  drawn.push(s("rect", { x: left - 1, y: y - 2, width: (MOST + 1) * pitch, height: whole + 1, fill: "none", stroke: "var(--fig-line)", ...(shared < heads ? { "stroke-dasharray": "4 4" } : {}) }));
  // Columns that stand open.
  const lines = Array.from({ length: MOST - rows.length }, (_, i) => `M${x(rows.length + 1 + i) - 1} ${y - 2}v${whole + 1}`);
  drawn.push(s("path", { d: lines.join(""), stroke: "var(--fig-line)", "stroke-dasharray": "3 3" }));
  const open = MOST + 1 - rows.length;
  if (!narrow && open > 2) drawn.push(text(`room for ${open} more words`, x(rows.length + open / 2), y + here / 2 + 4, { "text-anchor": "middle", fill: "var(--fig-quiet)", ...halo(5), "data-part": "room" }));
  if (shared < heads) {
    drawn.push(s("rect", { x: left - 1, y: y - 2, width: (MOST + 1) * pitch, height: here + 1, fill: "none", stroke: "var(--fig-quiet)", "data-part": "shrunk" }));
    const note = narrow ? ["Means of the trained four", "heads, not trained further"] : ["The keys and values of four heads, averaged; the model was not trained further."];
    note.forEach((line, i) => drawn.push(text(line, left + 6, y + here + 15 + 14 * i, { fill: "var(--fig-quiet)", "font-size": 12 })));
  }
  for (let l = 0; l < layers; l++) {
    ["key", "value"].forEach((role, which) => {
      const at = y + (2 * l + which) * (band + 3);
      const name = `${which ? "V" : "K"}${narrow || shared < 2 ? "₁₂"[l] : `, layer ${l + 1}`}`;
      // One head is lower than its name: there K stands before V.
      drawn.push(lane(name, at + band / 2 + 4, { "font-size": band < 12 ? 10 : 12, fill: `var(--fig-${role})`, ...(shared < 2 && !which ? { x: left - 24 } : {}) }));
      rows.forEach((row, column) => {
        const inked = SHADES.map(() => "");
        (which ? row.values : row.keys)[l].forEach((value, d) => {
          const [head, i] = [Math.floor(d / numbers), d % numbers];
          inked[SHADES.findIndex(([least]) => Math.abs(value) >= least)] += `M${(x(column) + 1.5 + i * unit).toFixed(2)} ${at + head * CELL}h${unit.toFixed(2)}v${CELL - 0.5}h-${unit.toFixed(2)}z`;
        });
        inked.forEach((d, shade) => d && drawn.push(s("path", { d, fill: `var(--fig-${role})`, "fill-opacity": SHADES[shade][1] * (column >= gone ? 0.25 : 1), "data-part": "kept-numbers", "data-column": column })));
      });
    });
  }
  drawn.push(
    s("rect", { x: left, y: y - 2, width: rows.length * pitch, height: here, fill: "none", stroke: "var(--fig-query)", "stroke-width": 3, "stroke-opacity": 0, "vector-effect": "non-scaling-stroke", "data-sweep": "" }),
    s("rect", { x: x(now.from) - 0.5, y: y - 3.5, width: (now.to - now.from) * pitch, height: here + 2, fill: "none", stroke: "var(--fig-output)", "stroke-width": 2.5, rx: 3, "data-part": "now" }),
  );
  y += whole + 4;

  // The passes that filled it, this one last; and what this one reads.
  drawn.push(lane(narrow ? "pass" : "passes", y + 15));
  let free = wide; // names of earlier passes end before this one's
  [...groups].reverse().forEach((group, back) => {
    const [from, to, on] = [x(group.from) + 2, x(group.to) - 4, !back];
    const colour = `var(--fig-${on ? "output" : "quiet"})`;
    drawn.push(s("path", { d: `M${from} ${y + 1}v3H${to}v-3`, fill: "none", stroke: colour, "stroke-width": on ? 2.5 : 1.5, "data-part": "pass", "data-from": group.from, "data-to": group.to, "data-name": group.name }));
    const half = (on ? 4 : 3.2) * group.name.length;
    const middle = Math.max((from + to) / 2, left + half);
    if (!on && (2 * half > to - from + 2 || middle + half > free - 3)) return;
    drawn.push(text(group.name, middle, y + 17, { "text-anchor": "middle", "font-size": on ? 12 : 11, fill: colour, ...(on ? { "font-weight": 700 } : {}) }));
    free = middle - half;
  });
  y += 22;
  // The cache in bytes, in a measure of its own: with a head of keys for each of queries as long as its columns.
  const end = x(rows.length) - 4;
  const ours = ((end - left) * shared) / heads;
  const held = [`${kilo(reads.cache)} KB`, ...(shared < heads ? [`${heads} heads: ${kilo((reads.cache * heads) / shared)}`] : [])];
  const says = [[`all ${rows.length} columns, ${held.join("; ")}`, `all: ${held[0]}`, "all"].find((words) => end + 6 + 6.2 * words.length < wide) ?? ""];
  drawn.push(
    lane("reads", y + 8),
    s("rect", { x: left, y: y - 0.5, width: ours.toFixed(2), height: 11, fill: "var(--fig-key)", "fill-opacity": 0.9, "data-part": "kept" }),
    ...(shared < heads ? [s("rect", { x: left, y: y - 0.5, width: (end - left).toFixed(2), height: 11, ...dashed })] : []),
    ...says.map((words) => text(words, end + 6, y + 8, { "font-size": 12 })),
  );
  y += 20;

  // What it reads in bytes, and for each word that it writes.
  const long = wide - left - (narrow ? 56 : 62);
  const total = KINDS.reduce((sum, [kind]) => sum + reads[kind], 0);
  const piece = (/** @type {readonly string[]} */ [kind, role], /** @type {Record<string, any>} */ place) =>
    s("rect", { ...place, fill: `var(--fig-${role})`, "fill-opacity": kind === "weights" ? 0.45 : 0.9 });
  const unsaid = /** @type {string[]} */ ([]);
  for (const [name, among] of /** @type {[string, number][]} */ ([["a pass", 1], ["a word", step.words.length]])) {
    const base = y + BAR / 2 + 5;
    drawn.push(lane(name, base, { fill: "var(--fig-ink)" }));
    let from = left;
    for (const kind of KINDS) {
      const width = (long * reads[kind[0]]) / among / FULL;
      drawn.push(piece(kind, { x: from.toFixed(2), y, width: width.toFixed(2), height: BAR, "data-reads": kind[0], "data-among": among }));
      from += width;
    }
    // What a pass reads where no heads share, and what a word costs where none is drafted; its name stands beside it,
    // unless the number does.
    const [much, than] = name === "a word" ? [alone, drafted.length && "Draft 0"] : [unshared, shared < heads && `${heads} heads`];
    if (than) {
      const end = left + (long * much) / FULL;
      drawn.push(s("rect", { x: left, y, width: (end - left).toFixed(2), height: BAR, ...dashed, "data-part": name === "a word" ? "alone" : "unshared" }));
      const ghost = `${than}: ${kilo(much)}`;
      if (from + (narrow ? 62 : 78) < end) drawn.push(text(ghost, end + 6, base, { "font-size": 12, fill: "var(--fig-quiet)" }));
      else unsaid.push(ghost);
    }
    drawn.push(text(`${kilo(total / among)} KB`, from + 6, base, { "font-size": narrow ? 14 : 17, "font-weight": 700, ...halo(4) }));
    y += BAR + 6;
  }
  let from = left;
  const named = (/** @type {string} */ label, /** @type {(x: number) => SVGElement} */ sign) => {
    if (from > left && from + 16 + 7 * label.length > wide) [from, y] = [left, y + 16];
    drawn.push(sign(from), text(label, from + 14, y + 11, { "font-size": 12, fill: "var(--fig-quiet)" }));
    from += 24 + 7 * label.length;
  };
  for (const [kind, role] of KINDS.filter(([kind]) => reads[kind])) named(`${kind} ${kilo(reads[kind])}`, (x) => piece([kind, role], { x, y: y + 2, width: 10, height: 10 }));
  for (const ghost of unsaid) named(ghost, (x) => s("rect", { x, y: y + 2, width: 10, height: 10, ...dashed }));
  if (drafted.length) named("a random number: kept if in the bar", (x) => s("circle", { cx: x + 5, cy: y + 7, r: 4, fill: "var(--fig-ink)", "data-part": "random" }));
  return { drawn, high: y + 18 };
}

/**
 * Let a pass be seen to read: a frame opens over all columns of the cache, whose colours stay, and the bars of bytes grow.
 * Nothing moves for who asked for that.
 * @param {SVGElement} drawing
 */
export function sweep(drawing) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const [narrow, wide] = ["scaleX(0)", "scaleX(1)"];
  for (const el of drawing.querySelectorAll('[data-sweep], [data-reads], [data-part="kept"]')) {
    const over = el.hasAttribute("data-sweep");
    const left = over ? el.getAttribute("x") : drawing.querySelector("[data-reads]")?.getAttribute("x");
    /** @type {SVGElement} */ (el).style.transformOrigin = `${left}px 0`;
    const ink = over ? { strokeOpacity: 1 } : {};
    el.animate([{ transform: narrow, ...ink }, { transform: wide, ...ink, offset: 0.8 }, { transform: wide }], { duration: 600, easing: "ease-out" });
  }
}
