// What a run makes of a sentence: a row a word, in it what each head looks at, and at its end the tag that the word is given.
import { s } from "./dom.js";
import { text } from "./curves.js";
import { LONGEST } from "../math/grammar.js";

const [TAG, GAP] = [58, 10];
/** Squares under this width leave their columns no room for names. */
export const NAMED = 9;

/** How wide the names of rows are. @param {string[]} words */
export const margin = (words) => 13 + 7.5 * Math.max(...words.map((word) => word.length));

/**
 * How wide a square is, if so many drawings stand in a row.
 * @param {number} wide
 * @param {string[]} words
 * @param {number} panels
 * @param {boolean} [named] whether rows have their names
 */
export const square = (wide, words, panels, named = true) => Math.min(30, ((wide - (named ? margin(words) : 0) - TAG + GAP) / panels - GAP) / words.length);

/** What a head is called, by its number among all. @param {number} which @param {number} layers @param {number} heads */
export const called = (which, layers, heads) => (layers > 1 ? `${Math.floor(which / heads) + 1}.${(which % heads) + 1}` : String(which + 1));

/**
 * @param {{ wide: number, high: number, words: string[], layers: number, heads: number, role: string, sign: string, only: number, named: boolean,
 *   note: string }} given `high`: what rows may share; `layers`: those that attend; `sign`: the run's name; `only`: the one head that
 *   is drawn, or -1; `named`: whether rows have their names; `note`: what is said where no word looks at another
 * @returns {{ svg: SVGElement, show: (weights: Float64Array[], tags: string[]) => void }} `show` gives squares and words others;
 *   weights are as `attend` leaves them
 */
export function looks({ wide, high, words, layers, heads, role, sign, only, named, note }) {
  const n = words.length;
  const all = Array.from({ length: layers * heads }, (_, which) => which);
  const drawn = only < 0 ? all : all.slice(Math.min(only, all.length - 1)).slice(0, 1);
  const label = named ? margin(words) : 0;
  const cell = Math.max(3, drawn.length ? square(wide, words, drawn.length, named) : 0);
  const columns = drawn.length && cell >= NAMED;
  // The longest name of a column, slanted.
  const narrow = cell < 13;
  const top = columns ? 26 + (narrow ? 6 : 5.2) * Math.max(...words.map((word) => word.length)) : 19;
  const tall = Math.max(16, Math.min(28, (high - top) / n));
  const panel = n * cell + GAP;
  const end = label + drawn.length * panel;
  /** @type {SVGElement[][]} */
  const squares = all.map(() => []);
  const head = (/** @type {number} */ which, /** @type {number} */ place) => {
    const name = called(which, layers, heads);
    return s(
      "g",
      { transform: `translate(${(label + place * panel).toFixed(1)} 0)` },
      text(panel < 52 ? name : `head ${name}`, named ? 0 : 18, 11, { fill: "var(--fig-ink)", "font-weight": 600, "font-size": 12 }),
      ...(columns ? words : []).map((word, j) => text(word, 0, 0, { transform: `translate(${((j + 0.5) * cell + (narrow ? 3.5 : 2)).toFixed(1)} ${top - 4}) rotate(${narrow ? -90 : -55})`, "font-size": narrow ? 11 : 12 })),
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
  const tags = words.map((_, i) => text("", drawn.length ? end - 4 : label + 4, middle(i), { fill: "var(--fig-ink)" }));
  const size = [drawn.length ? end + TAG - GAP + 6 : wide, top + n * tall + 3];
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
      given.forEach((tag, i) => {
        if (tags[i].textContent === tag) return;
        tags[i].textContent = tag;
        tags[i].setAttribute("font-weight", tag.endsWith("✗") ? "700" : "400");
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
