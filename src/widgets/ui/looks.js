// What a run makes of a sentence: a row a word, in it what each head looks at, and at its end the tag that the word is given.
import { s } from "./dom.js";
import { text } from "./curves.js";
import { LONGEST } from "../math/grammar.js";

const GAP = 10;
/** How wide the tags are at most: in short, and in full. */
const TAG = [60, 92];
/** How wide and high a square gets: more than the word of its column needs nothing tells. */
const [WIDEST, HIGHEST] = [60, 36];
/** Squares under this width leave their columns no room for names. */
export const NAMED = 9;

/** How wide the names of rows are. @param {string[]} words */
export const margin = (words) => 13 + 7.5 * Math.max(...words.map((word) => word.length));

/**
 * How wide a square is, if so many drawings stand in a row.
 * @param {number} wide
 * @param {string[]} words
 * @param {number} panels
 * @param {boolean} full whether tags are
 * @param {boolean} [named] whether rows have their names
 */
export const square = (wide, words, panels, full, named = true) => Math.min(WIDEST, ((wide - (named ? margin(words) : 0) - TAG[Number(full)] + GAP) / panels - GAP) / words.length);

/** What a head is called, by its number among all. @param {number} which @param {number} layers @param {number} heads */
export const called = (which, layers, heads) => (layers > 1 ? `${Math.floor(which / heads) + 1}.${(which % heads) + 1}` : String(which + 1));

/** @typedef {{ said: string, kind: string, wrong: boolean }} Tag as it is written */

/**
 * @param {{ wide: number, high: number, words: string[], layers: number, heads: number, role: string, sign: string, only: number, full: boolean,
 *   named: boolean, note: string }} given `high`: what rows may share; `layers`: those that attend; `sign`: the run's name; `only`: the one head that
 *   is drawn, or -1; `full`: whether tags are written in full; `named`: whether rows have their names; `note`: what is said where no word looks at another
 * @returns {{ svg: SVGElement, show: (weights: Float64Array[], tags: Tag[]) => void }} `show` gives squares and words others;
 *   weights are as `attend` leaves them
 */
export function looks({ wide, high, words, layers, heads, role, sign, only, full, named, note }) {
  const n = words.length;
  const all = Array.from({ length: layers * heads }, (_, which) => which);
  const drawn = only < 0 ? all : all.slice(Math.min(only, all.length - 1)).slice(0, 1);
  const label = named ? margin(words) : 0;
  const cell = Math.max(3, drawn.length ? square(wide, words, drawn.length, full, named) : 0);
  const columns = drawn.length && cell >= NAMED;
  // The longest name of a column: level, else slanted.
  const [longest, narrow] = [Math.max(...words.map((word) => word.length)), cell < 13];
  const level = cell >= 7 * longest + 4;
  const alone = all.length === 1; // needs no name, and level ones stand beside the run's
  const top = !columns ? 19 : level ? (alone ? 17 : 32) : 26 + (narrow ? 6 : 5.2) * longest;
  const tall = Math.max(16, Math.min(HIGHEST, (high - top) / n));
  const panel = n * cell + GAP;
  const end = label + drawn.length * panel;
  /** @type {SVGElement[][]} */
  const squares = all.map(() => []);
  const head = (/** @type {number} */ which, /** @type {number} */ place) => {
    const name = called(which, layers, heads);
    return s(
      "g",
      { transform: `translate(${(label + place * panel).toFixed(1)} 0)` },
      text(alone ? "" : panel < 52 ? name : `head ${name}`, named ? 0 : 18, 11, { fill: "var(--fig-ink)", "font-weight": 600, "font-size": 12 }),
      ...(columns ? words : []).map((word, j) => level ? text(word, (j + 0.5) * cell, top - 6, { "text-anchor": "middle" })
        : text(word, 0, 0, { transform: `translate(${((j + 0.5) * cell + (narrow ? 3.5 : 2)).toFixed(1)} ${top - 4}) rotate(${narrow ? -90 : -55})`, "font-size": narrow ? 11 : 12 })),
      ...words.flatMap((_, i) =>
        words.map((_, j) => {
          const square = s("rect", { x: (j * cell).toFixed(1), y: (top + i * tall).toFixed(1), width: cell.toFixed(1), height: tall.toFixed(1), stroke: "var(--fig-line)", fill: `var(--fig-${role})`, "fill-opacity": 0 });
          squares[which].push(square);
          return square;
        }),
      ),
    );
  };
  const middle = (/** @type {number} */ i) => top + (i + 0.5) * tall + 4.5;
  const names = named ? words.map((word, i) => text(word, label - 6, middle(i), { "text-anchor": "end" })) : [];
  const tags = words.map(() => s("g"));
  const size = [drawn.length ? end + TAG[Number(full)] - GAP + 3 : wide, top + n * tall + 3];
  const svg = s(
    "svg",
    { viewBox: `0 0 ${size[0].toFixed(1)} ${size[1].toFixed(1)}`, width: size[0].toFixed(1), role: "img", style: "max-width: 100%; height: auto; display: block" },
    text(sign, 0, 11, { fill: `var(--fig-${role})`, "font-weight": 700 }),
    ...(drawn.length ? [] : [text(note, 18, 11)]),
    ...drawn.map(head), ...names, ...tags,
  );
  return {
    svg,
    show(weights, given) {
      weights.forEach((layer, l) => eachWeight(layer, n, heads, (weight, i, k, j) => squares[l * heads + k][i * n + j]?.setAttribute("fill-opacity", weight.toFixed(3))));
      given.forEach(({ said, kind, wrong }, i) => {
        if (tags[i].textContent === said) return;
        const [left, width, height] = [drawn.length ? end - 3 : label + 4, 6.2 * said.length + 12, Math.min(tall - 2, 19)];
        tags[i].setAttribute("data-kind", kind);
        tags[i].classList.toggle("is-wrong", wrong);
        tags[i].replaceChildren(
          s("rect", { x: left.toFixed(1), y: (top + (i + 0.5) * tall - height / 2).toFixed(1), width: width.toFixed(1), height, rx: height / 2 }),
          text(said, left + width / 2, middle(i) - 0.5, { "text-anchor": "middle", "font-size": 12, fill: "var(--says)" }),
        );
      });
    },
  };
}

/**
 * @param {Float64Array} weights
 * @param {number} n
 * @param {number} heads
 * @param {(weight: number, i: number, head: number, j: number) => void} visit
 */
export function eachWeight(weights, n, heads, visit) {
  for (let i = 0; i < n; i++) for (let head = 0; head < heads; head++) for (let j = 0; j < n; j++) visit(weights[(i * heads + head) * LONGEST + j], i, head, j);
}
