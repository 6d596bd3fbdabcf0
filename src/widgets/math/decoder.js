// Two small language models that write: a pass with a KV cache, words drafted and checked, and what all that reads.
// Mirrors transformer/language.py and transformer/speculative.py, in double precision.
import { layerNorm, rotary, softmax } from "./attention.js";
import { uniforms } from "./random.js";
import { distribution, drawn, missing } from "./samplers.js";

/**
 * @typedef {import("./packed.js").Tensor} Tensor
 * @typedef {import("./samplers.js").Rules} Rules
 * @typedef {{ d_model: number, n_layers: number, n_heads: number }} Shape
 * @typedef {{ card: { words: string[], models: Record<string, Shape> }, tensors: Record<string, Tensor> }} Models
 * @typedef {{ keys: number[][], values: number[][] }} Row what the cache keeps of a word, by layer: the heads side by side
 * @typedef {{ drafted: number[], q: number[][], scores: number[][], p: number[][], keep: number[], kept: number,
 *   words: number[], rows: Row[], asked: number[], drew: number }} Pass `keep`: with what chance each drafted word is kept,
 *   if its random number in `asked` is below it; `words`: those that the pass writes; `rows`: the cache, those of all that
 *   was drafted at its end; `drew`: the random number that fell on the last word
 */

const START = 0;
export const END = 1;
/** Words that a text may have: with <start>, as many as the cache has room for. */
export const MOST = 11;
/** Numbers are counted as 16 bits each. */
const BYTES = 2;

/**
 * The numbers of a text's words, or what is wrong with it.
 * @param {Models} models
 * @param {unknown} text
 */
export function numbered({ card: { words } }, text) {
  const spoken = String(text ?? "").split(" ").filter(Boolean);
  const unknown = spoken.find((word) => words.indexOf(word) < 2);
  if (unknown) throw new Error(`text must be of ${words.slice(2).join(", ")}; got ${unknown}.`);
  if (spoken.length > MOST) throw new Error(`text must have at most ${MOST} words, got ${spoken.length}.`);
  return spoken.map((word) => words.indexOf(word));
}

/**
 * One of the models, with a cache of its own: read words one after another, and get the scores of the next.
 * @param {Models} models
 * @param {string} name model or draft
 * @param {number} [shared] key-value heads that are left, if heads share them: the means of their own
 * @returns {{ rows: Row[], read: (word: number) => number[] }}
 */
export function reader({ card, tensors }, name, shared) {
  const { d_model: d, n_layers, n_heads } = card.models[name];
  const width = d / n_heads;
  const group = n_heads / (shared ?? n_heads);
  const get = (/** @type {string} */ key) => tensors[`${name}/${key}`];
  const linear = (/** @type {number[]} */ x, /** @type {string} */ key) => {
    const { shape, data } = get(`${key}.weight`);
    const bias = get(`${key}.bias`)?.data;
    return Array.from({ length: shape[0] }, (_, o) => {
      let sum = bias ? bias[o] : 0;
      for (let i = 0; i < x.length; i++) sum += data[o * x.length + i] * x[i];
      return sum;
    });
  };
  const norm = (/** @type {number[]} */ x, /** @type {string} */ key) => layerNorm(x, get(`${key}.weight`).data, get(`${key}.bias`).data);
  const heads = (/** @type {number[]} */ x) => Array.from({ length: x.length / width }, (_, h) => x.slice(h * width, (h + 1) * width));
  const mean = (/** @type {number[]} */ x) =>
    heads(x).flatMap((_, h, all) => (h % group ? [] : all[h].map((_, i) => all.slice(h, h + group).reduce((sum, head) => sum + head[i], 0) / group)));
  const turn = (/** @type {number[]} */ x, /** @type {number} */ at) => heads(x).flatMap((head) => rotary(head, at));
  /** @type {Row[]} */
  const rows = [];

  return {
    rows,
    read(word) {
      const at = rows.length;
      /** @type {Row} */
      const own = { keys: [], values: [] };
      rows.push(own);
      const table = get("embedding.weight").data;
      let x = Array.from(table.subarray(word * d, (word + 1) * d));
      for (let l = 0; l < n_layers; l++) {
        const layer = `stack.layers.${l}`;
        const y = norm(x, `${layer}.attention_norm`);
        const q = heads(turn(linear(y, `${layer}.attention.q_proj`), at));
        own.keys.push(turn(mean(linear(y, `${layer}.attention.k_proj`)), at));
        own.values.push(mean(linear(y, `${layer}.attention.v_proj`)));
        const mixed = q.flatMap((query, h) => {
          const from = Math.floor(h / group) * width;
          const weights = softmax(rows.map(({ keys }) => query.reduce((sum, a, i) => sum + a * keys[l][from + i], 0) / Math.sqrt(width)));
          return query.map((_, i) => weights.reduce((sum, w, j) => sum + w * rows[j].values[l][from + i], 0));
        });
        x = add(x, linear(mixed, `${layer}.attention.out_proj`));
        const up = linear(norm(x, `${layer}.ffn_norm`), `${layer}.ffn.in_proj`).map((a) => Math.max(a, 0));
        x = add(x, linear(up, `${layer}.ffn.out_proj`));
      }
      return linear(norm(x, "stack.final_norm"), "out_proj");
    },
  };
}

/**
 * @param {number[]} a
 * @param {number[]} b
 */
const add = (a, b) => a.map((value, i) => value + b[i]);

/**
 * One pass of the model over what it has not read: the last word and those that the draft wrote behind it. Without a
 * draft it is a plain step of decoding.
 * @param {Models} models
 * @param {number[]} text words so far, without <start>
 * @param {{ rules: Rules, draft: number, heads?: number, seed: number }} how `draft`: words drafted for a pass
 * @returns {Pass}
 */
export function pass(models, text, { rules, draft, heads, seed }) {
  const dice = uniforms(seed);
  const die = (/** @type {number} */ at, /** @type {number} */ which) => dice(3 * (text.length + at) + which);
  const model = reader(models, "model", heads);
  const small = reader(models, "draft");
  /** @type {number[]} */
  const drafted = [];
  /** @type {number[][]} */
  const q = [];
  let [own, theirs] = [[0], [0]];
  for (const word of [START, ...text]) [own, theirs] = [model.read(word), draft ? small.read(word) : [0]];
  for (let i = 0; i < Math.min(draft, MOST - 1 - text.length) && drafted[i - 1] !== END; i++) {
    if (i) theirs = small.read(drafted[i - 1]);
    q.push(distribution(theirs, rules));
    drafted.push(drawn(q[i], die(i, 1)));
  }
  const scores = [own, ...drafted.map(model.read)];
  const p = scores.map((row) => distribution(row, rules));
  const keep = drafted.map((word, i) => Math.min(p[i][word] / q[i][word], 1));
  const asked = drafted.map((_, i) => die(i, 2));
  const refused = keep.findIndex((chance, i) => asked[i] >= chance);
  const kept = refused < 0 ? drafted.length : refused;
  const words = drafted.slice(0, kept);
  if (words[kept - 1] !== END) words.push(drawn(refused < 0 ? p[kept] : missing(p[kept], q[kept]), die(kept, 0)));
  return { drafted, q, scores, p, keep, kept, words, rows: model.rows, asked, drew: die(kept, 0) };
}

/**
 * What a pass reads, in bytes: weights and cache of the model, and all that the draft reads before.
 * @param {Models} models
 * @param {{ rows: number, read: number, drafted: number, heads?: number }} given rows of the cache, those read for the
 *   first time among them; words drafted
 */
export function bytes({ card }, { rows, read, drafted, heads }) {
  const { model, draft } = card.models;
  const kept = (/** @type {Shape} */ of, n = of.n_heads) => (2 * of.n_layers * n * of.d_model) / of.n_heads;
  const weights = (/** @type {Shape} */ of, /** @type {number} */ words, n = of.n_heads) => {
    const d = of.d_model;
    const layer = 2 * (d * d + d) + kept({ ...of, n_layers: 1 }, n) * (d + 1) + 4 * d + 8 * d * d + 5 * d;
    return of.n_layers * layer + 2 * d + card.words.length * d + words * d; // of the table that reads, only the words' rows
  };
  let before = 0;
  for (let i = 0; i < drafted; i++) before += weights(draft, 1) + kept(draft) * (rows - drafted + i);
  return {
    cache: BYTES * rows * kept(model, heads),
    weights: BYTES * weights(model, read, heads),
    draft: BYTES * before,
  };
}
