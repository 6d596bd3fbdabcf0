// Masks as rows of 0 and 1 (1 = may attend), attention under them in both orders, and what depends on what. No DOM.
import { matmul, softmax, transpose } from "./attention.js";

/** @typedef {import("./attention.js").Matrix} Matrix */

/**
 * @param {number} n
 * @param {(i: number, j: number) => boolean} rule may row i attend to column j?
 * @returns {Matrix}
 */
const make = (n, rule) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (rule(i, j) ? 1 : 0)));

/**
 * The presets: what each is called, how the package writes it, and its rule.
 * @type {Record<string, { label: (size: number) => string, code: (n: number, size: number) => string,
 *   rule: (n: number, size: number) => (i: number, j: number) => boolean }>}
 */
export const PRESETS = {
  causal: { label: () => "causal", code: (n) => `causal(${n})`, rule: () => (i, j) => j <= i },
  padding: {
    label: (size) => `padding: last ${size}`,
    code: (n, size) => `padding([${n - size}], ${n})[0]`,
    rule: (n, size) => (_, j) => j < n - size,
  },
  prefix: {
    label: (size) => `prefix: first ${size}`,
    code: (n, size) => `prefix(${n}, ${size})`,
    rule: (_, size) => (i, j) => j < size || j <= i,
  },
  packed: {
    label: (size) => `packed: ${size} each`,
    code: (n, size) => `packed([${Array.from({ length: n }, (_, i) => Math.floor(i / size)).join(", ")}])`,
    rule: (_, size) => (i, j) => Math.floor(i / size) === Math.floor(j / size),
  },
};

/**
 * @param {string} name a key of PRESETS
 * @param {number} n
 * @param {number} size at least 1, at most n
 */
export const preset = (name, n, size) => make(n, PRESETS[name].rule(n, size));

/**
 * What both masks allow.
 * @param {Matrix} a
 * @param {Matrix} b
 */
export const both = (a, b) => a.map((row, i) => row.map((x, j) => x & b[i][j]));

/**
 * Attend from the tokens to themselves, under a mask that acts before the softmax or, wrongly, after it.
 * @param {Matrix} x queries, keys and values at once
 * @param {Matrix} mask
 * @param {boolean} late
 */
export function attend(x, mask, late) {
  const root = Math.sqrt(x[0].length);
  const scores = matmul(x, transpose(x)).map((row) => row.map((s) => s / root));
  const weights = scores.map((row, i) =>
    late ? softmax(row).map((w, j) => w * mask[i][j]) : softmax(row.map((s, j) => (mask[i][j] ? s : -Infinity))),
  );
  return { weights, output: matmul(weights, x) };
}

/**
 * Add an amount to every number of one token.
 * @param {Matrix} x
 * @param {number} which the token; -1 for none
 * @param {number} amount
 */
export const nudge = (x, which, amount) => x.map((row, i) => (i === which ? row.map((v) => v + amount) : row));

/**
 * How far each output moves, in its entry that moves most.
 * @param {Matrix} before
 * @param {Matrix} after
 */
export const moved = (before, after) => before.map((row, i) => Math.max(...row.map((v, d) => Math.abs(v - after[i][d]))));

/**
 * Whether output i depends on another token j. Behind a late mask it depends on all, through the sum that the
 * softmax divides by, unless nothing of the row is left. (On itself it always may: the query is its own.)
 * @param {Matrix} mask
 * @param {boolean} late
 */
const depends = (mask, late) => (/** @type {number} */ i, /** @type {number} */ j) =>
  i !== j && (late ? mask[i].includes(1) : mask[i][j] === 1);

/**
 * @param {Matrix} mask
 * @param {(i: number, j: number) => boolean} rule
 * @returns {[number, number][]} the pairs for which it holds, in reading order
 */
const pairs = (mask, rule) => mask.flatMap((row, i) => row.flatMap((_, j) => (rule(i, j) ? [/** @type {[number, number]} */ ([i, j])] : [])));

/**
 * Outputs that depend on a token which their row hides.
 * @param {Matrix} mask
 * @param {boolean} late
 */
export const leaks = (mask, late) => pairs(mask, (i, j) => depends(mask, late)(i, j) && !mask[i][j]);

/**
 * Outputs that depend on a later token.
 * @param {Matrix} mask
 * @param {boolean} late
 */
export const ahead = (mask, late) => pairs(mask, (i, j) => j > i && depends(mask, late)(i, j));

/** @param {Matrix} mask @returns {number[]} the rows that may attend to nothing */
export const emptyRows = (mask) => mask.flatMap((row, i) => (row.includes(1) ? [] : [i]));

/** @param {Matrix} mask @returns {number} how many cells are allowed */
export const allowed = (mask) => mask.flat().reduce((a, b) => a + b, 0);

/**
 * The state as Python that runs.
 * @param {{ x: Matrix, mask: Matrix, late: boolean, nudged: number, name: string, nudge: number }} given
 */
export function snippet({ x, mask, late, nudged, name, nudge: amount }) {
  const change = nudged < 0 ? "" : `x[${nudged}] += ${amount}  # the nudged token: ${name.replace(/\s/g, " ")}\n`;
  const weigh = late ? "s.softmax(-1) * mask  # too late: the hidden tokens are in the sum" : "scores.softmax(s, mask)";
  return `import torch

from attnlab import scores

x = torch.tensor(${JSON.stringify(x)}, dtype=torch.float64)  # one row a token
${change}mask = torch.tensor(${JSON.stringify(mask)}, dtype=torch.bool)  # True = may attend
s = scores.scaled_dot(x, x)
weights = ${weigh}
print(weights)
print(weights @ x)
`;
}
