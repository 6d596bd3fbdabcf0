// A matrix state that reads orders one by one: added, faded, corrected; and softmax attention beside it. No DOM.
import { matmul, softmax } from "./attention.js";

/** @typedef {number[][]} Matrix */

export const PEOPLE = ["Ann", "Bob", "Cy", "Dee"];
export const DRINKS = ["tea", "milk", "juice"];
/** @type {[string, string][]} */
export const ORDERS = [["Ann", "tea"], ["Bob", "milk"], ["Ann", "milk"], ["Dee", "juice"], ["Bob", "tea"], ["Cy", "tea"], ["Ann", "tea"], ["Cy", "milk"]];
export const NEW_DAY = 5; // the first order of the second day
export const RULES = ["sum", "gate", "delta", "both"];
const SHARP = 8; // what softmax multiplies its scores with

/**
 * The people's keys: each of length 1, any two with the same product.
 * @param {number} likeness
 * @returns {Matrix}
 */
export function keysOf(likeness) {
  const n = PEOPLE.length;
  const own = Math.sqrt(1 - likeness);
  const shared = (Math.sqrt(1 - likeness + n * likeness) - own) / n;
  return PEOPLE.map((_, i) => PEOPLE.map((_, j) => shared + (i === j ? own : 0)));
}

/**
 * What reading one order makes of a state, stage by stage: as it was, faded, with the old value taken out, written.
 * @param {Matrix} state
 * @param {{ key: number[], value: number[], kept: number, corrects: boolean }} order
 * @returns {Matrix[]} four states
 */
export function write(state, { key, value, kept, corrects }) {
  const faded = state.map((row) => row.map((x) => kept * x));
  const held = matmul([key], faded)[0];
  const clear = corrects ? faded.map((row, i) => row.map((x, j) => x - key[i] * held[j])) : faded;
  return [state, faded, clear, clear.map((row, i) => row.map((x, j) => x + key[i] * value[j]))];
}

/**
 * Read the orders up to a step.
 * @param {{ rule: string, step: number, asked: string, likeness: number, stays: number }} given
 */
export function fill({ rule, step, asked, likeness, stays }) {
  const keys = keysOf(likeness);
  const gated = rule === "gate" || rule === "both";
  const read = ORDERS.slice(0, step).map(([who, what], t) => ({
    key: keys[PEOPLE.indexOf(who)],
    value: DRINKS.map((drink) => Number(drink === what)),
    kept: !gated ? 1 : t === NEW_DAY ? 0 : stays,
    corrects: rule === "delta" || rule === "both",
  }));
  const empty = PEOPLE.map(() => DRINKS.map(() => 0));
  /** @type {Matrix[]} */
  let stages = [empty, empty, empty, empty];
  for (const order of read) stages = write(stages[3], order);
  const query = keys[PEOPLE.indexOf(asked)];
  const weights = read.length ? softmax(read.map(({ key }) => SHARP * key.reduce((sum, x, i) => sum + x * query[i], 0))) : [];
  const first = step > NEW_DAY ? NEW_DAY : 0;
  const today = ORDERS.slice(first, step).reduce((newest, [who, what]) => (who === asked ? what : newest), "nothing");
  return {
    keys, query, stages, weights, today,
    held: stages[3],
    answer: matmul([query], stages[3])[0],
    softmax: DRINKS.map((_, j) => read.reduce((sum, { value }, t) => sum + weights[t] * value[j], 0)),
  };
}
