// What a run makes of a sentence: a row a word, in it what each head looks at, and at its end the tag that the word is given.
import { s } from "./dom.js";
import { text } from "./curves.js";
import { LONGEST } from "../math/grammar.js";

const [TAG, GAP] = [66, 10];
/** Squares under this width leave their columns no room for names. */
const NAMED = 9;

/**
 * @param {{ wide: number, words: string[], layers: number, heads: number, role: string }} given `layers`: those that attend
 * @returns {{ svg: SVGElement, show: (weights: Float64Array[], tags: string[]) => void }} `show` gives squares and words others;
 *   weights are as `attend` leaves them
 */
export function looks({ wide, words, layers, heads, role }) {
  const n = words.length;
  const label = 13 + 7.5 * Math.max(...words.map((word) => word.length));
  const tall = Math.max(16, Math.min(26, 150 / n));
  const panels = layers * heads;
  const room = (/** @type {number} */ across) => Math.min(30, ((wide - label - TAG + GAP) / across - GAP) / n);
  // In one row, if the squares stay large enough to be seen.
  const across = Math.max(1, [panels, heads, 2, 1].find((many) => many <= panels && room(many) >= 5.5) ?? 1);
  const cell = Math.max(3, room(across));
  const top = cell < NAMED ? 17 : 48;
  const [panel, high] = [n * cell + GAP, top + n * tall + 8];
  const rows = Math.ceil(panels / across);
  const end = label + (panels ? across * panel : 0);
  /** @type {SVGElement[][]} */
  const squares = [];
  const narrow = cell < 13;
  const head = (/** @type {number} */ which) => {
    const [x, y] = [label + (which % across) * panel, Math.floor(which / across) * high];
    const name = layers > 1 ? `${Math.floor(which / heads) + 1}.${(which % heads) + 1}` : `head ${(which % heads) + 1}`;
    squares.push([]);
    return s(
      "g",
      { transform: `translate(${x.toFixed(1)} ${y})` },
      text(panel < 52 && layers === 1 ? String(which + 1) : name, 0, 11, { fill: "var(--fig-ink)", "font-weight": 600, "font-size": 12 }),
      ...(cell < NAMED ? [] : words).map((word, j) => text(word, 0, 0, { transform: `translate(${((j + 0.5) * cell + (narrow ? 3.5 : 2)).toFixed(1)} ${top - 4}) rotate(${narrow ? -90 : -55})`, "font-size": narrow ? 11 : 12 })),
      ...words.flatMap((_, i) =>
        words.map((_, j) => {
          const square = s("rect", { x: (j * cell).toFixed(1), y: (top + i * tall).toFixed(1), width: cell.toFixed(1), height: tall.toFixed(1), stroke: "var(--fig-line)", fill: `var(--fig-${role})`, "fill-opacity": 0 });
          squares[which].push(square);
          return square;
        }),
      ),
    );
  };
  const drawn = Array.from({ length: panels }, (_, which) => head(which));
  // Where no word looks at another there are no columns to name.
  const first = panels ? top : 8;
  const middle = (/** @type {number} */ i, row = 0) => row * high + first + (i + 0.5) * tall + 4;
  const names = Array.from({ length: Math.max(1, rows) }, (_, row) => words.map((word, i) => text(word, label - 6, middle(i, row), { "text-anchor": "end" }))).flat();
  const tags = words.map((_, i) => text("", end, middle(i), { fill: "var(--fig-ink)" }));
  const size = [end + TAG - (panels ? GAP : 0), panels ? rows * high : first + n * tall + 8];
  const svg = s("svg", { viewBox: `0 0 ${size[0].toFixed(1)} ${size[1].toFixed(1)}`, width: size[0].toFixed(1), role: "img", style: "max-width: 100%; height: auto; display: block" }, ...drawn, ...names, ...tags);
  return {
    svg,
    show(weights, given) {
      weights.forEach((layer, l) => eachWeight(layer, n, heads, (weight, i, k, j) => squares[l * heads + k][i * n + j].setAttribute("fill-opacity", weight.toFixed(3))));
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
