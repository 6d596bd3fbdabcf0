// The formula of one cell of the calculator, with its numbers: typeset, and as plain text; and the cells that feed it.
import { fmt, h } from "./dom.js";

/** @typedef {import("../math/attention.js").Matrix} Matrix */
/** @typedef {{ name: string, row: number, column: number }} Cell */
/**
 * A piece of a formula: plain text, a matrix by its name, a word in the colour of its part, a power of e, a root, a fraction, or a term of
 * a sum, which comes of the pair of numbers with its number; and what is known when so many terms are.
 * @typedef {string | { name: string } | { word: string, part: string } | { power: string } | { root: string } |
 *   { over: Piece[], under: Piece[] } | { term: number, of: Piece[] } | { total: string, after: number }} Piece
 */

/** What the state calls the four matrices that a reader may edit. */
export const EDITABLE = /** @type {Record<string, string>} */ ({ X: "X", Wq: "W_q", Wk: "W_k", Wv: "W_v" });

/** The two matrices that each is made of: of the first it takes a row, of the second a column. */
export const MADE_OF = /** @type {Record<string, string[]>} */ ({ Q: ["X", "Wq"], K: ["X", "Wk"], V: ["X", "Wv"], A: ["scaled"], O: ["A", "V"] });

/** What a word does with its row of each, and the part that it plays. */
const DOES = /** @type {Record<string, string[]>} */ ({ Q: ["asks", "query"], K: ["offers", "key"], V: ["passes on", "value"], O: ["gets", "output"] });

/**
 * Tell which cells feed one.
 * @param {Cell} cell
 * @returns {(name: string, row: number, column: number) => boolean}
 */
export const feeds = ({ name, row, column }) => (n, i, j) => {
  if (name === "scaled") return n === "S" && i === row && j === column;
  if (name === "S") return (n === "Q" && i === row) || (n === "K" && i === column);
  const [first, second] = MADE_OF[name] ?? [];
  return n === first ? i === row : n === second && j === column;
};

/** How many decimals the numbers of a matrix need: none where all are whole. @param {Matrix} matrix */
export const decimals = (matrix) => (matrix.flat().every((x) => Number.isInteger(x) || !Number.isFinite(x)) ? 0 : 2);

/**
 * @param {number[]} a
 * @param {number[]} b
 * @param {number} ofA decimals of the first
 * @param {number} ofB and of the second
 * @returns {Piece[]}
 */
const sum = (a, b, ofA, ofB) =>
  a.flatMap((x, d) => [...(d ? [" + "] : []), { term: d, of: [`${fmt(x, ofA)} × ${b[d] < 0 ? `(${fmt(b[d], ofB)})` : fmt(b[d], ofB)}`] }]);

/**
 * The formula of a cell, with its numbers.
 * @param {Record<string, Matrix>} all every matrix by its name
 * @param {Cell} cell
 * @param {string[]} tokens
 * @param {number | null} [scale] nothing for one over the root of the width
 * @param {boolean} [told] an output is first told in words
 * @returns {Piece[]}
 */
export function explain(all, { name, row, column }, tokens, scale, told) {
  const value = all[name][row][column];
  const of = (/** @type {string} */ one) => decimals(all[one]);
  const down = (/** @type {Matrix} */ m) => m.map((line) => line[column]);
  const at = `${row + 1}, ${column + 1}`;
  const word = (/** @type {number} */ i, /** @type {string} */ part) => ({ word: tokens[i], part });
  const pair = [word(row, "query"), " asks, ", word(column, "key"), " offers: "];
  if (name in EDITABLE) {
    const whose = name === "X" ? `the vector of “${tokens[row]}”` : `what input ${row + 1} adds to entry ${column + 1}`;
    return [{ name: EDITABLE[name] }, `[${at}] = ${fmt(value, of(name))}: ${whose}. Type to change it.`];
  }
  const total = (/** @type {number} */ after) => ({ total: ` = ${fmt(value, of(name))}`, after });
  if (name === "S") return [...pair, ...sum(all.Q[row], all.K[column], of("Q"), of("K")), total(all.Q[row].length)];
  if (name === "scaled") {
    if (value === -Infinity) return [...pair, "−∞, for it comes later and is hidden."];
    if (scale === 1) return [...pair, `${fmt(value, of(name))}, not divided here`];
    const score = fmt(all.S[row][column], of("S"));
    return [...pair, ...(scale === null || scale === undefined ? [{ over: [score], under: [{ root: String(all.Q[0].length) }] }] : [`${score} × ${fmt(scale, 3)}`]), ` = ${fmt(value, of(name))}`];
  }
  if (name === "A") {
    /** @type {Piece[]} */
    const powers = all.scaled[row].map((x) => (x === -Infinity ? "0" : { power: fmt(x, of("scaled")) }));
    const under = powers.flatMap((power, j) => [...(j ? [" + "] : []), /** @type {Piece} */ ({ term: j, of: [power] })]);
    return [word(row, "query"), " takes from ", word(column, "key"), ": ", { over: [powers[column]], under }, total(powers.length)];
  }
  const [left, right] = MADE_OF[name];
  const given = down(all[right]);
  const [does, part] = DOES[name];
  return [
    word(row, told ? "query" : part),
    ...(told ? [" takes ", ...shares(all.A[row], tokens)] : [` ${does}`]),
    ": ",
    ...sum(all[left][row], given, of(left), of(right)),
    total(all[left][row].length),
  ];
}

/**
 * What is taken from each word, the most first; two words that are alike are told as one.
 * @param {number[]} weights
 * @param {string[]} tokens
 * @returns {Piece[]}
 */
function shares(weights, tokens) {
  /** @type {Record<string, number[]>} */
  const from = {};
  tokens.forEach((token, i) => (from[token] ??= []).push(weights[i]));
  return Object.entries(from)
    .map(([word, all]) => ({ word, many: all.length, share: all.reduce((a, b) => a + b) }))
    .sort((a, b) => b.share - a.share)
    .flatMap(({ word, many, share }, i) => [`${i ? ", " : ""}${fmt(100 * share, 0)} % from ${["", "both "][many - 1] ?? "all "}`, { word, part: "value" }]);
}

/**
 * A formula as plain text.
 * @param {Piece[]} pieces
 * @returns {string}
 */
export const plain = (pieces) =>
  pieces
    .map((piece) => {
      if (typeof piece === "string") return piece;
      if ("name" in piece) return piece.name;
      if ("word" in piece) return piece.word;
      if ("power" in piece) return `e^${piece.power}`;
      if ("root" in piece) return `√${piece.root}`;
      if ("term" in piece) return plain(piece.of);
      if ("total" in piece) return piece.total;
      const under = plain(piece.under);
      return `${plain(piece.over)} / ${piece.under.length > 1 ? `(${under})` : under}`;
    })
    .join("");

/**
 * A formula as it is printed in books.
 * @param {Piece[]} pieces
 * @returns {Node[]}
 */
export const typeset = (pieces) =>
  pieces.map((piece) => {
    if (typeof piece === "string") return document.createTextNode(piece);
    if ("name" in piece) {
      const [letter, index] = piece.name.split("_");
      return h("span", {}, h("i", {}, letter), index ? h("sub", {}, index) : "");
    }
    if ("word" in piece) return h("b", { style: `color: var(--fig-${piece.part})` }, piece.word);
    if ("power" in piece) return h("span", {}, h("i", {}, "e"), h("sup", {}, piece.power));
    if ("root" in piece) return h("span", {}, "√", h("span", { style: "border-top: 1px solid" }, piece.root));
    if ("term" in piece) return h("span", { class: "attnlab-term", "data-term": piece.term }, ...typeset(piece.of));
    if ("total" in piece) return h("span", { class: "attnlab-total", "data-term": piece.after }, piece.total);
    return h("span", { class: "attnlab-fraction" }, h("span", {}, ...typeset(piece.over)), h("span", {}, ...typeset(piece.under)));
  });
