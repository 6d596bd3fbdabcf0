// The formula of one cell of the calculator, with its numbers, and the cells that feed it.
import { fmt } from "./dom.js";

/** @typedef {import("../math/attention.js").Matrix} Matrix */
/** @typedef {{ name: string, row: number, column: number }} Cell */

/** What the state calls the four matrices that a reader may edit. */
export const EDITABLE = /** @type {Record<string, string>} */ ({ X: "X", Wq: "W_q", Wk: "W_k", Wv: "W_v" });

/** The two matrices that each is made of: of the first it takes a row, of the second a column. */
const MADE_OF = /** @type {Record<string, string[]>} */ ({ Q: ["X", "Wq"], K: ["X", "Wk"], V: ["X", "Wv"], A: ["scaled"], O: ["A", "V"] });

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

/**
 * @param {number[]} a
 * @param {number[]} b
 */
const sum = (a, b) => a.map((x, d) => `${fmt(x)} × ${b[d] < 0 ? `(${fmt(b[d])})` : fmt(b[d])}`).join(" + ");

/**
 * The formula of a cell, with its numbers.
 * @param {Record<string, Matrix>} all every matrix by its name
 * @param {Cell} cell
 * @param {string[]} tokens
 * @param {number | null} [scale] nothing for one over the root of the width
 */
export function explain(all, { name, row, column }, tokens, scale) {
  const value = all[name][row][column];
  const down = (/** @type {Matrix} */ m) => m.map((line) => line[column]);
  const at = `[${row + 1}, ${column + 1}]`;
  const [asks, answers] = [`“${tokens[row]}”`, `“${tokens[column]}”`];
  if (name in EDITABLE) {
    const whose = name === "X" ? `the vector of ${asks}` : `what input ${row + 1} adds to entry ${column + 1}`;
    return `${EDITABLE[name]}${at} = ${fmt(value)}: ${whose}. Type to change it.`;
  }
  if (name === "S") return `score${at}: query of ${asks} · key of ${answers} = ${sum(all.Q[row], all.K[column])} = ${fmt(value)}`;
  if (name === "scaled") {
    if (value === -Infinity) return `scaled${at} = −∞: ${answers} comes later and is hidden.`;
    const by = scale === null || scale === undefined ? `/ √${all.Q[0].length}` : `× ${fmt(scale, 3)}`;
    return `scaled${at} = ${fmt(all.S[row][column])} ${by} = ${fmt(value)}`;
  }
  if (name === "A") {
    const powers = all.scaled[row].map((x) => (x === -Infinity ? "0" : `e^${fmt(x)}`));
    return `weight${at} = ${powers[column]} / (${powers.join(" + ")}) = ${fmt(value, 3)}: ${asks} takes ${fmt(100 * value, 1)} % of ${answers}`;
  }
  const [left, right] = MADE_OF[name];
  return `${name === "O" ? "output" : name}${at} = ${sum(all[left][row], down(all[right]))} = ${fmt(value)}`;
}
