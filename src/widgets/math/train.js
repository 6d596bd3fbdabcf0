// Training in the page: the package's Tagger on the toy grammar, forward, backward, and Adam, in plain loops.
//
// A pass is a list of steps (steps.js). Each computes its output, and leaves behind what the way back has to do; the way back
// goes through the list from its end.
import { LONGEST, TAGS, WORDS } from "./grammar.js";
import { uniforms } from "./random.js";
import { attend, embed, KNOWN, linear, mean, norm, relu, repeat, sum, turn } from "./steps.js";

/** @typedef {import("./steps.js").Rows} Rows */
/**
 * What a tagger is made of, in the words of the package's `Tagger`; `divide`: what a dot product of queries and keys is divided
 * by, the root of their width, the width, or nothing; `residual`: whether each part's output is added to its input; `sight`: what
 * the words see in each layer, where that is neither all nor all before.
 * @typedef {{ context: string, positions: string, n_heads: number, d_model: number, n_layers: number, divide: string,
 *   residual: boolean, sight?: import("./steps.js").Sight[] }} Choices
 * @typedef {{ shape: number[], value: Float64Array, slope: Float64Array }} Parameter
 * @typedef {{ choices: Choices, parameters: Map<string, Parameter>, values: Float64Array, slopes: Float64Array,
 *   mean: Float64Array, square: Float64Array, steps: number, room: { numbers: Float64Array, used: number } }} Model `mean` and
 *   `square`: Adam's running means; `room`: where a pass keeps its numbers, until the next pass takes their place
 * @typedef {{ model: Model, starts: number[], back: (() => void)[], weights: Float64Array[] }} Pass `starts`: the row of each
 *   sentence's first word, and the number of all rows; `weights`: of each layer that attends, see `attend`
 */

export const CONTEXTS = ["alone", "mean", "attention", "causal attention"];
export const POSITIONS = ["none", "sinusoidal", "learned", "rotary", "alibi"];
export const DIVIDE = ["root", "width", "nothing"];
/** What words see, where nothing else is said. */
const [ALL, BEFORE] = [false, true].map((causal) =>
  Array.from({ length: LONGEST + 1 }, (_, n) => Array.from({ length: n }, (_, i) => Array.from({ length: causal ? i + 1 : n }, (_, j) => j))),
);
const SPREAD = 0.3; // of word and position vectors at the start

/**
 * Name the parameters of a tagger as its `state_dict` does, with their shapes, in its order.
 * @param {Choices} choices
 * @returns {[string, number[]][]}
 */
export function shapes({ context, positions, d_model: d, n_layers }) {
  const norm = (/** @type {string} */ name) => /** @type {[string, number[]][]} */ ([[`${name}.weight`, [d]], [`${name}.bias`, [d]]]);
  const linear = (/** @type {string} */ name, n = d, m = d) => /** @type {[string, number[]][]} */ ([[`${name}.weight`, [n, m]], [`${name}.bias`, [n]]]);
  const mixer = { alone: [], mean: ["value", "out"] }[context] ?? ["q_proj", "k_proj", "v_proj", "out_proj"];
  const layer = (/** @type {string} */ name) => [
    ...(mixer.length ? norm(`${name}.norm`) : []),
    ...mixer.flatMap((part) => linear(`${name}.mixer.${part}`)),
    ...norm(`${name}.each.0`),
    ...linear(`${name}.each.1`, 2 * d, d),
    ...linear(`${name}.each.3`, d, 2 * d),
  ];
  return [
    ["embedding.weight", [WORDS.length + KNOWN, d]],
    ...(positions === "learned" ? /** @type {[string, number[]][]} */ ([["learned.weight", [LONGEST, d]]]) : []),
    ...Array.from({ length: n_layers }, (_, i) => layer(`layers.${i}`)).flat(),
    ...norm("norm"),
    ...linear("out", TAGS.length, d),
  ];
}

/**
 * Make a tagger with random weights, spread as the package's. What each parameter is drawn from follows from the seed and its name
 * alone: two taggers of one seed begin alike wherever they have the same parts.
 * @param {Choices} choices
 * @param {number} seed
 * @returns {Model}
 */
export function build(choices, seed) {
  const named = shapes(choices);
  const sizes = named.map(([, shape]) => shape.reduce((a, b) => a * b));
  const total = sizes.reduce((a, b) => a + b);
  const [values, slopes, mean, square] = [0, 0, 0, 0].map(() => new Float64Array(total));
  const parameters = new Map();
  let at = 0;
  named.forEach(([name, shape], i) => {
    const [value, slope] = [values, slopes].map((all) => all.subarray(at, at + sizes[i]));
    parameters.set(name, { shape, value, slope });
    begin(name, value, shape, named, uniforms(stream(seed, name)));
    at += sizes[i];
  });
  return { choices, parameters, values, slopes, mean, square, steps: 0, room: { numbers: new Float64Array(0), used: 0 } };
}

/**
 * @param {string} name
 * @param {Float64Array} value
 * @param {number[]} shape
 * @param {[string, number[]][]} named
 * @param {(i: number) => number} uniform
 */
function begin(name, value, shape, named, uniform) {
  const weight = named.find(([other]) => other === name.replace(/bias$/, "weight"))?.[1] ?? shape;
  if (/^(embedding|learned)/.test(name)) {
    for (let i = 0; i < value.length; i += 2) {
      const [radius, angle] = [Math.sqrt(-2 * Math.log(uniform(i))), 2 * Math.PI * uniform(i + 1)];
      value[i] = SPREAD * radius * Math.cos(angle);
      value[i + 1] = SPREAD * radius * Math.sin(angle);
    }
    if (name === "embedding.weight") value.fill(0, 0, shape[1]); // padding
  } else if (weight.length === 1) value.fill(name.endsWith("weight") ? 1 : 0); // a layer norm
  else for (let i = 0; i < value.length; i++) value[i] = (2 * uniform(i) - 1) / Math.sqrt(weight[1]);
}

/**
 * The seed of what is called so: FNV-1a of both.
 * @param {number} seed
 * @param {string} name
 */
export const stream = (seed, name) => [...`${seed}/${name}`].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16777619) >>> 0, 2166136261);

/**
 * Score every tag for every word.
 * @param {Model} model
 * @param {number[][]} sentences numbers of words, at most LONGEST of them each
 * @returns {Pass & { scores: Rows }}
 */
export function forward(model, sentences) {
  const { context, positions, n_heads, d_model, n_layers, divide, residual, sight } = model.choices;
  const starts = [0];
  for (const words of sentences) starts.push(starts[starts.length - 1] + words.length);
  const pass = /** @type {Pass} */ ({ model, starts, back: [], weights: [] });
  model.room.used = 0;
  const attends = context.endsWith("attention");
  const added = positions === "learned" || positions === "sinusoidal";
  // A batch has ten times as many words as there are different ones. What follows from the word (and, where places are added
  // to it, from its place) is computed once for each, until words hear one another.
  const { different, which } = distinct(sentences, added);
  let x = embed(pass, different);
  let copies = /** @type {Int32Array | null} */ (which);
  const join = (/** @type {Rows} */ before, /** @type {Rows} */ after) => (residual ? sum(pass, before, after) : after);
  for (let i = 0; i < n_layers; i++) {
    const part = `layers.${i}.mixer`;
    const seen = sight ? sight[i] : context[0] === "c" ? BEFORE : ALL;
    if (context !== "alone") {
      const normed = norm(pass, x, `layers.${i}.norm`);
      const make = (/** @type {string} */ name) => repeat(pass, linear(pass, normed, `${part}.${name}`), copies);
      let heard;
      if (attends) {
        const [q, k] = ["q_proj", "k_proj"].map((name) => (positions === "rotary" ? turn(pass, make(name), n_heads) : make(name)));
        const d = d_model / n_heads;
        const scale = { root: 1 / Math.sqrt(d), width: 1 / d, nothing: 1 }[divide] ?? NaN;
        heard = linear(pass, attend(pass, q, k, make("v_proj"), { n_heads, scale, sight: seen, alibi: positions === "alibi" }), `${part}.out_proj`);
      } else heard = linear(pass, mean(pass, make("value"), seen), `${part}.out`);
      x = join(repeat(pass, x, copies), heard);
      copies = null;
    }
    const wide = relu(pass, linear(pass, norm(pass, x, `layers.${i}.each.0`), `layers.${i}.each.1`));
    x = join(x, linear(pass, wide, `layers.${i}.each.3`));
  }
  return Object.assign(pass, { scores: repeat(pass, linear(pass, norm(pass, x, "norm"), "out"), copies) });
}

/**
 * Add to the slopes those of the cross-entropy, and return it: its sum over the words, over `among`.
 * @param {Pass & { scores: Rows }} pass
 * @param {number[][]} tags of each sentence
 * @param {number} among words of the whole batch, of which these sentences may be a part
 */
export function backward(pass, tags, among) {
  const { value, slope, columns } = pass.scores;
  let loss = 0;
  tags.flat().forEach((tag, row) => {
    const from = row * columns;
    let most = -Infinity;
    for (let c = 0; c < columns; c++) most = Math.max(most, value[from + c]);
    let total = 0;
    for (let c = 0; c < columns; c++) total += Math.exp(value[from + c] - most);
    loss += Math.log(total) + most - value[from + tag];
    for (let c = 0; c < columns; c++) slope[from + c] = (Math.exp(value[from + c] - most) / total - Number(c === tag)) / among;
  });
  for (let i = pass.back.length - 1; i >= 0; i--) pass.back[i]();
  return loss / among;
}

/**
 * A step of Adam along the slopes, which are zero thereafter.
 * @param {Model} model
 * @param {number} rate
 */
export function adam(model, rate) {
  const { values, slopes, mean, square } = model;
  const [keep, keepSquare, eps] = [0.9, 0.999, 1e-8];
  model.steps += 1;
  const pace = rate / (1 - keep ** model.steps);
  const root = Math.sqrt(1 - keepSquare ** model.steps);
  for (let i = 0; i < values.length; i++) {
    const slope = slopes[i];
    mean[i] += (1 - keep) * (slope - mean[i]);
    square[i] = keepSquare * square[i] + (1 - keepSquare) * slope * slope;
    values[i] -= (pace * mean[i]) / (Math.sqrt(square[i]) / root + eps);
  }
  slopes.fill(0);
}

/**
 * The different words of some sentences, or words at places; and for each word, which it is.
 * @param {number[][]} sentences
 * @param {boolean} placed
 */
function distinct(sentences, placed) {
  const found = new Int32Array(WORDS.length * LONGEST).fill(-1);
  const different = /** @type {{ word: number, place: number }[]} */ ([]);
  const which = [];
  for (const words of sentences) {
    for (let i = 0; i < words.length; i++) {
      const place = placed ? i : 0;
      const key = words[i] * LONGEST + place;
      if (found[key] < 0) found[key] = different.push({ word: words[i], place }) - 1;
      which.push(found[key]);
    }
  }
  return { different, which: Int32Array.from(which) };
}
