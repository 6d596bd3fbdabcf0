// Where tokens stand, in six ways, for one small head of attention. No DOM: node tests hold it to torch.
import { matmul, rotary, softmax } from "./attention.js";

/**
 * The head and its words; `learned` has a row a place, `relative` an entry for each distance from -reach to reach.
 * @typedef {{ x: number[][], wq: number[][], wk: number[][], wv: number[][], scheme: string, learned: number[][],
 *   relative: number[], slope: number, base: number }} Head
 */

/** Names of the schemes; the first three act on the embeddings or not at all, the last two on the scores. */
export const SCHEMES = ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"];

/**
 * Sines in the even places, cosines in the odd ones.
 * @param {number} position
 * @param {number} d
 * @param {number} base
 */
export const sinusoid = (position, d, base) =>
  Array.from({ length: d }, (_, i) => {
    const angle = position * base ** (-(i - (i % 2)) / d);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });

/**
 * What is added to the score of a query at m and a key at n.
 * @param {Head} head
 * @param {number} m
 * @param {number} n
 */
export function bias(head, m, n) {
  if (head.scheme === "alibi") return -head.slope * Math.abs(n - m);
  if (head.scheme !== "relative") return 0;
  const reach = (head.relative.length - 1) / 2;
  return head.relative[Math.min(Math.max(n - m, -reach), reach) + reach];
}

/**
 * Query, key and value of one word at one position.
 * @param {Head} head
 * @param {number[]} word its embedding
 * @param {number} position
 */
function views(head, word, position) {
  if (!SCHEMES.includes(head.scheme)) throw new Error(`scheme must be one of ${SCHEMES.join(", ")}, got “${head.scheme}”.`);
  const added =
    head.scheme === "sinusoidal"
      ? sinusoid(position, word.length, head.base)
      : head.scheme === "learned"
        ? head.learned[position]
        : word.map(() => 0);
  const row = [word.map((value, i) => value + added[i])];
  const [q, k, v] = [head.wq, head.wk, head.wv].map((w) => matmul(row, w)[0]);
  const turn = (/** @type {number[]} */ t) => (head.scheme === "rotary" ? rotary(t, position, head.base) : t);
  return { q: turn(q), k: turn(k), v };
}

/**
 * @param {number[]} a
 * @param {number[]} b
 */
export const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/**
 * Attention over the words of a sentence, standing at 0, 1, 2 and so on.
 * @param {Head} head
 * @param {number[]} order which row of x stands at each place
 */
export function attendInOrder(head, order) {
  const seen = order.map((token, place) => views(head, head.x[token], place));
  const weights = seen.map(({ q }, m) =>
    softmax(seen.map(({ k }, n) => dot(q, k) / Math.sqrt(q.length) + bias(head, m, n))),
  );
  return { weights, output: matmul(weights, seen.map(({ v }) => v)) };
}

/**
 * How far the outputs reach from zero in many orders of the words: in all of them, if there are four words or fewer.
 * @param {Head} head
 */
export function farthest(head) {
  const written = head.x.map((_, i) => i);
  const orders = written.length < 5 ? permutations(written) : written.flatMap((i) => [[...written.slice(i), ...written.slice(0, i)], [...written.slice(0, i), ...written.slice(i)].reverse()]);
  const outputs = orders.flatMap((order) => attendInOrder(head, order).output);
  return Math.max(...outputs.map((output) => Math.hypot(...output)), 1e-6);
}

/** @param {number[]} items @returns {number[][]} */
const permutations = (items) =>
  items.length < 2 ? [items] : items.flatMap((item, i) => permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]));

/**
 * The order with one word taken out and put in elsewhere.
 * @param {number[]} order
 * @param {number} token
 * @param {number} place where it then stands
 */
export function moved(order, token, place) {
  const others = order.filter((other) => other !== token);
  return [...others.slice(0, place), token, ...others.slice(place)];
}

/**
 * Let two words change places.
 * @param {number[]} order
 * @param {number} a
 * @param {number} b
 */
export const swapped = (order, a, b) => order.map((token) => (token === a ? b : token === b ? a : token));

/**
 * The figure's state as PyTorch that runs and prints the same numbers.
 * @param {(key: string) => any} get reads the state
 * @returns {string}
 */
export function snippet(get) {
  const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(get(key))}, dtype=torch.float64)`;
  const [scheme, reach] = [get("scheme"), (get("relative").length - 1) / 2];
  const added = /** @type {any} */ ({
    sinusoidal: "    x = x + positions.sinusoidal(len(x), 4, base=base, dtype=x.dtype)\n",
    learned: "    x = x + learned[: len(x)]\n",
  })[scheme] ?? "";
  const turned = scheme === "rotary" ? "    q, k = positions.rotary(q, base=base), positions.rotary(k, base=base)\n" : "";
  const bias = /** @type {any} */ ({
    alibi: `    return -${get("slope")} * distance.abs().double()`,
    relative: `    return relative[distance.clamp(-${reach}, ${reach}) + ${reach}]`,
  })[scheme] ?? "    return torch.zeros_like(distance, dtype=torch.float64)";
  const table = ["learned", "relative"].includes(scheme) ? `${scheme} = ${t(scheme)}\n` : "";
  return `import torch

from attnlab import attention, positions

base = ${get("base")}
x = ${t("x")}  # ${get("tokens").join(", ")}
wq = ${t("wq")}
wk = ${t("wk")}
wv = ${t("wv")}
${table}

def views(x):
${added}    q, k, v = x @ wq, x @ wk, x @ wv
${turned}    return q, k, v


def bias(n):
    distance = torch.arange(n) - torch.arange(n)[:, None]  # of the key from the query
${bias}


def outputs(order):
    return attention(*views(x[order]), bias=bias(len(order)))


order = ${JSON.stringify(get("order"))}
as_written = outputs(list(range(len(x))))
print(outputs(order))
print("change", (outputs(order) - as_written[order]).norm(dim=-1))
`;
}

/**
 * Another order than the present one: one that reads differently, and that doesn't read as it was written unless it is,
 * for equal words change places unseen.
 * @param {number[]} order
 * @param {string[]} tokens
 */
export function shuffled(order, tokens) {
  const next = order.slice();
  const reads = (/** @type {number[]} */ other) => next.every((token, p) => tokens[token] === tokens[other[p]]);
  const unseen = () => reads(order) || (reads(next.map((_, p) => p)) && next.some((token, p) => token !== p));
  const able = new Set(tokens).size > 1;
  do {
    for (let i = next.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [next[i], next[j]] = [next[j], next[i]];
    }
  } while (able && unseen());
  return next;
}
