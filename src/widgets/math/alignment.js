// The small models of the alignment figure: read a date, write it again, and say where each looked. Mirrors
// recurrent/bahdanau.py and recurrent/luong.py, in double precision.
import { softmax } from "./attention.js";

/**
 * @typedef {import("./packed.js").Tensor} Tensor
 * @typedef {{ source: string, target: string, models: Record<string, { d_hidden: number, right: number }> }} Card
 * @typedef {{ card: Card, tensors: Record<string, Tensor> }} Models
 * @typedef {{ text: string, probability: number, weights: number[] }} Written a character, and where was looked for it
 * @typedef {(name: string) => Tensor} Get
 */

const sigmoid = (/** @type {number} */ x) => 1 / (1 + Math.exp(-x));
const dot = (/** @type {ArrayLike<number>} */ a, /** @type {number[]} */ b) => b.reduce((sum, x, i) => sum + a[i] * x, 0);

/**
 * W x + b.
 * @param {Get} get
 * @param {string} name
 * @param {number[]} x
 * @param {string} [suffix] of an LSTM's matrices, as "_ih_l0"
 */
function linear(get, name, x, suffix = "") {
  const { shape, data } = get(`${name}.weight${suffix}`);
  const bias = get(`${name}.bias${suffix}`)?.data;
  return Array.from({ length: shape[0] }, (_, o) => dot(data.subarray(o * shape[1], (o + 1) * shape[1]), x) + (bias ? bias[o] : 0));
}

/**
 * A row of an embedding.
 * @param {Get} get
 * @param {string} name
 * @param {number} at
 */
const row = (get, name, at) => {
  const { shape, data } = get(`${name}.weight`);
  return Array.from(data.subarray(at * shape[1], (at + 1) * shape[1]));
};

/**
 * A step of the gated unit of Cho et al.
 * @param {Get} get
 * @param {string} name
 * @param {number[]} x
 * @param {number[]} s
 */
function gated(get, name, x, s) {
  const d = s.length;
  const [w, u] = [linear(get, `${name}.w`, x), linear(get, `${name}.u_gates`, s)];
  const [z, r] = [0, d].map((from) => s.map((_, i) => sigmoid(w[from + i] + u[from + i])));
  const proposal = linear(get, `${name}.u`, s.map((a, i) => r[i] * a)).map((a, i) => Math.tanh(w[2 * d + i] + a));
  return s.map((a, i) => a + z[i] * (proposal[i] - a));
}

/**
 * A step of torch's LSTM: input, forget, cell, output gate.
 * @param {Get} get
 * @param {string} name
 * @param {number[]} x
 * @param {number[][]} state h and c
 */
function lstm(get, name, x, [h, c]) {
  const d = h.length;
  const [a, b] = [linear(get, name, x, "_ih_l0"), linear(get, name, h, "_hh_l0")];
  const gate = (/** @type {number} */ k, /** @type {number} */ i) => a[k * d + i] + b[k * d + i];
  const cell = c.map((old, i) => sigmoid(gate(1, i)) * old + sigmoid(gate(0, i)) * Math.tanh(gate(2, i)));
  return [cell.map((x, i) => sigmoid(gate(3, i)) * Math.tanh(x)), cell];
}

/**
 * Let one of the models write.
 * @param {Models} models
 * @param {string} name bahdanau, dot, general or concat
 * @param {string} text characters that the card names
 * @param {number} [most] characters of the answer
 * @returns {Written[]} one for each character, the end not counted
 */
export function write({ card, tensors }, name, text, most = 24) {
  const get = (/** @type {string} */ key) => tensors[`${name}/${key}`];
  const zeros = new Array(card.models[name].d_hidden).fill(0);
  const x = [...text].map((c) => row(get, "embed_source", card.source.indexOf(c)));
  const { begin, step } = name === "bahdanau" ? bahdanau(get, x, zeros) : luong(get, x, zeros, name);
  let [word, state] = [0, begin];
  const written = [];
  while (written.length < most && x.length) {
    const next = step(row(get, "embed_target", word), state);
    const chances = softmax(next.logits);
    word = chances.indexOf(Math.max(...chances));
    state = next.state;
    if (card.target[word] === ">") break;
    written.push({ text: card.target[word], probability: chances[word], weights: next.weights });
  }
  return written;
}

/**
 * @param {number[]} weights
 * @param {number[][]} rows
 */
const mean = (weights, rows) => rows[0].map((_, d) => weights.reduce((sum, w, j) => sum + w * rows[j][d], 0));

/**
 * s_{t-1} asks; what comes back takes part in the guess and in s_t.
 * @param {Get} get
 * @param {number[][]} x
 * @param {number[]} zeros
 */
function bahdanau(get, x, zeros) {
  /** @type {[number[][], number[][]]} */
  const [left, right] = [[], []];
  for (let i = 0; i < x.length; i++) {
    left.push(gated(get, "encoder.from_left", x[i], left[i - 1] ?? zeros));
    right.push(gated(get, "encoder.from_right", x[x.length - 1 - i], right[i - 1] ?? zeros));
  }
  right.reverse();
  const h = left.map((a, j) => [...a, ...right[j]]);
  const keys = h.map((a) => linear(get, "u_a", a));
  const begin = h.length ? linear(get, "w_s", right[0]).map(Math.tanh) : zeros;
  const step = (/** @type {number[]} */ y, /** @type {any} */ s) => {
    const asks = linear(get, "w_a", s);
    const weights = softmax(keys.map((key) => linear(get, "v", key.map((a, i) => Math.tanh(asks[i] + a)))[0]));
    const context = mean(weights, h);
    const pairs = linear(get, "readout", [...s, ...y, ...context]);
    const best = pairs.flatMap((a, i) => (i % 2 ? [] : [Math.max(a, pairs[i + 1])]));
    return { logits: linear(get, "out", best), weights, state: gated(get, "unit", [...y, ...context], s) };
  };
  return { begin, step };
}

/**
 * The decoder moves to h_t, h_t asks; what comes back changes the guess.
 * @param {Get} get
 * @param {number[][]} x
 * @param {number[]} zeros
 * @param {string} score dot, general or concat
 */
function luong(get, x, zeros, score) {
  let begin = /** @type {any} */ ([zeros, zeros]);
  const h = x.map((row) => (begin = lstm(get, "encoder", row, begin))[0]);
  const keys = score === "general" ? h.map((a) => linear(get, "w_a", a)) : h;
  const step = (/** @type {number[]} */ y, /** @type {any} */ before) => {
    const state = lstm(get, "decoder", y, before);
    const asks = state[0];
    const scored = (/** @type {number[]} */ key) =>
      score === "concat" ? linear(get, "v", linear(get, "w_a", [...asks, ...key]).map(Math.tanh))[0] : dot(key, asks);
    const weights = softmax(keys.map(scored));
    return { logits: linear(get, "out", linear(get, "w_c", [...mean(weights, h), ...asks]).map(Math.tanh)), weights, state };
  };
  return { begin, step };
}

/**
 * What the models can read of a text: lower case, without the characters that they don't know.
 * @param {Card} card
 * @param {string} text
 */
export const readable = (card, text) => [...text.toLowerCase()].filter((c) => c !== "\0" && card.source.includes(c)).join("");
