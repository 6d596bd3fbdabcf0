// The shipped tagger in the page: hash, attend, tag. Mirrors tagging/shipped.py.
import { layerNorm, rotary, softmax } from "./attention.js";
import { bucket, features, split } from "./words.js";

/**
 * @typedef {import("./packed.js").Tensor} Tensor
 * @typedef {{ n_buckets: number, d_model: number, n_heads: number, n_layers: number, d_ff: number, seeds: number[] }} Form
 * @typedef {{ form: Form, tags: string[], data: string, licence: string, accuracy: { dev: number, test: number } }} Card
 * @typedef {{ card: Card, tensors: Record<string, Tensor> }} Model
 */

/**
 * Tag a text.
 * @param {Model} model
 * @param {string} text
 */
export function tagText(model, text) {
  return tagTokens(model, split(text));
}

/**
 * What can be switched off, by name.
 * @param {Form} form
 */
export function parts({ n_layers, n_heads }) {
  const layers = Array.from({ length: n_layers }, (_, l) => [
    `attention ${l + 1}`,
    ...Array.from({ length: n_heads }, (_, h) => `head ${l + 1}.${h + 1}`),
    `network ${l + 1}`,
  ]);
  return ["norm", "residual", ...layers.flat()];
}

/**
 * The stream of every token behind a part: how large what the part added is beside it, and the tags if it were
 * read out there.
 * @typedef {{ part: string, on: boolean, added: number[], probabilities: number[][] }} Stage
 */

/**
 * Tag tokens.
 * @param {Model} model
 * @param {string[]} tokens
 * @param {Set<string>} [off] parts that add nothing; without "norm" parts read the stream as it is, without
 *   "residual" they replace it
 * @param {Set<number>} [hidden] tokens at which no token may look
 * @returns {{ tokens: string[], tags: string[], probabilities: number[][], weights: number[][][][], stages: Stage[] }}
 *   weights by layer, head, query, key
 */
export function tagTokens({ card, tensors }, tokens, off = new Set(), hidden = new Set()) {
  const { n_buckets, d_model, n_heads, n_layers, seeds } = card.form;
  const table = tensors["table.weight"].data;
  let x = tokens.map((token) => {
    const sum = new Array(d_model).fill(0);
    for (const feature of features(token)) {
      for (const seed of seeds) {
        const start = bucket(feature, seed, n_buckets) * d_model;
        for (let d = 0; d < d_model; d++) sum[d] += table[start + d];
      }
    }
    return sum;
  });
  const linear = (/** @type {number[]} */ row, /** @type {string} */ name) => {
    const { shape, data } = tensors[`${name}.weight`];
    const out = Array.from(tensors[`${name}.bias`].data);
    for (let o = 0; o < shape[0]; o++) {
      for (let d = 0; d < shape[1]; d++) out[o] += data[o * shape[1] + d] * row[d];
    }
    return out;
  };
  const norm = (/** @type {number[]} */ row, /** @type {string} */ name) =>
    layerNorm(row, tensors[`${name}.weight`].data, tensors[`${name}.bias`].data);
  const before = (/** @type {number[]} */ row, /** @type {string} */ name) => (off.has("norm") ? row : norm(row, name));
  const read = () => x.map((row) => softmax(linear(norm(row, "norm"), "out")));
  /** @type {Stage[]} */
  const stages = [{ part: "words", on: true, added: x.map(() => 0), probabilities: read() }];
  const put = (/** @type {string} */ part, /** @type {(row: number[], i: number) => number[]} */ work) => {
    const on = !off.has(part);
    const found = on ? x.map(work) : [];
    const added = x.map((row, i) => (on ? size(found[i]) / size(row) : 0));
    if (on) x = off.has("residual") ? found : x.map((row, i) => add(row, found[i]));
    stages.push({ part, on, added, probabilities: read() });
  };
  const weights = [];
  for (let l = 0; l < n_layers; l++) {
    const layer = `layers.${l}`;
    const normed = x.map((row) => before(row, `${layer}.norm`));
    const [q, k, v] = ["q", "k", "v"].map((which) =>
      normed.map((row) => linear(row, `${layer}.attention.${which}_proj`)),
    );
    const width = q.length ? q[0].length / n_heads : 0;
    const seen = [];
    const mixed = tokens.map(() => /** @type {number[]} */ ([]));
    for (let h = 0; h < n_heads; h++) {
      const part = (/** @type {number[]} */ row) => row.slice(h * width, (h + 1) * width);
      const turned = [q, k].map((rows) => rows.map((row, at) => rotary(part(row), at)));
      const head = turned[0].map((query) =>
        softmax(
          turned[1].map((key, at) =>
            hidden.has(at) ? -Infinity : query.reduce((s, a, d) => s + a * key[d], 0) / Math.sqrt(width),
          ),
        ),
      );
      seen.push(head);
      const on = off.has(`head ${l + 1}.${h + 1}`) ? 0 : 1;
      head.forEach((row, i) => {
        for (let d = 0; d < width; d++) mixed[i].push(on * row.reduce((s, w, j) => s + w * v[j][h * width + d], 0));
      });
    }
    weights.push(seen);
    put(`attention ${l + 1}`, (_, i) => linear(mixed[i], `${layer}.attention.out_proj`));
    put(`network ${l + 1}`, (row) => {
      const up = linear(before(row, `${layer}.norm2`), `${layer}.up`).map((a) => Math.max(a, 0));
      return linear(up, `${layer}.down`);
    });
  }
  const { probabilities } = stages[stages.length - 1];
  const tags = probabilities.map((row) => card.tags[row.indexOf(Math.max(...row))]);
  return { tokens, tags, probabilities, weights, stages };
}

/**
 * @param {number[]} a
 * @param {number[]} b
 */
const add = (a, b) => a.map((value, i) => value + b[i]);

/** @param {number[]} row */
const size = (row) => Math.sqrt(row.reduce((sum, a) => sum + a * a, 0));

/**
 * Average the weights of all heads of all layers, or pick one head.
 * @param {number[][][][]} weights layer, head, query, key
 * @param {string} head "mean" or "layer.head", from 1
 */
export function chosen(weights, head) {
  const heads = weights.flat();
  const [layer, number] = head.split(".").map(Number);
  const one = weights[layer - 1]?.[number - 1];
  if (one) return one;
  const n = heads[0]?.length ?? 0;
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => heads.reduce((sum, rows) => sum + rows[i][j], 0) / heads.length),
  );
}
