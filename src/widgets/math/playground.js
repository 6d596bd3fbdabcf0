// A run of the playground: what is chosen, training in pieces that leave a page its frames, and how good the tagger is.
import { draw, everySentence, TAGS, WORDS } from "./grammar.js";
import { uniforms } from "./random.js";
import { adam, backward, build, CONTEXTS, DIVIDE, forward, POSITIONS, stream } from "./train.js";

/** @typedef {import("./train.js").Choices & { rate: number, batch: number }} Choices */
/** @typedef {import("./grammar.js").Tagged} Tagged */
/**
 * @typedef {{ right: number, all: number, loss: number, square: number, cross: number, many: number, guesses: Map<string, number[]> }} Tally sums over
 *   sentences; `guesses`: "word/tag" -> how often each tag was given
 * @typedef {{ step: number, accuracy: number, error: number, loss: number, gradient: number, guesses: Map<string, number[]> }} Reading
 *   `error`: the standard error of the accuracy, 0 where it is exact; `gradient`: norm of the slopes at the weights of the queries
 * @typedef {{ choices: Choices, model: import("./train.js").Model, work: Generator<void>, curve: Reading[], loss: number, gradient: number,
 *   rates: number, diverged: string, exact: Reading | null }} Run `rates`: how many pairs of rate and batch it has had
 */

/** The best any tagger can do that sees so much, in per cent, and the least cross-entropy, in nats a word. Exact. */
export const CEILINGS = /** @type {Record<string, { accuracy: number, loss: number }>} */ ({
  "word": { accuracy: 74.5362, loss: 0.423636 },
  "word and position": { accuracy: 82.3329, loss: 0.337212 },
  "bag of words": { accuracy: 86.4186, loss: 0.242475 },
  "everything before": { accuracy: 95.1731, loss: 0.09435 },
  "both neighbours": { accuracy: 98.5863, loss: 0.026839 },
  "whole sentence": { accuracy: 99.6383, loss: 0.006293 },
});
export const DEFAULTS = /** @type {Choices} */ ({
  context: "attention", positions: "none", n_heads: 2, d_model: 32, n_layers: 1, divide: "root", residual: true, rate: 0.01, batch: 32,
});
/** What may be chosen, in the order in which it is offered. @type {Record<string, any[]>} */
export const OFFERED = {
  context: CONTEXTS, positions: POSITIONS, n_heads: [1, 2, 4], d_model: [8, 16, 32, 64], n_layers: [1, 2], divide: DIVIDE, residual: [true, false],
  rate: [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1], batch: [8, 16, 32, 64, 128],
};
/** Words that have more than one tag, and whose errors are shown. */
const CONFUSED = ["saw", "that", "can"].map((word) => WORDS.indexOf(word));
/** Here the axis ends, and training with it. */
export const LAST = 20_000;
const SAMPLE = 600;
/** Products of numbers that one piece of work takes at most: about a millisecond’s worth. */
const PIECE = 3e6;
/** To know nothing costs ln 6 = 1.79 nats a word. A loss that stays so far above is no learning. */
const LOST = 2 * Math.log(TAGS.length);

/**
 * Say what is wrong with some choices.
 * @param {any} given
 * @param {string} who the name of the run
 * @returns {Choices}
 */
export function checked(given, who) {
  const choices = { ...DEFAULTS, ...given };
  for (const [key, value] of Object.entries(choices)) {
    const offered = OFFERED[key];
    if (!offered) throw new Error(`run ${who} has no choice called ${key}; there are ${Object.keys(OFFERED).join(", ")}.`);
    if (key === "rate" && typeof value === "number" && value > 0 && value <= 1) continue;
    if (!offered.includes(value)) throw new Error(`${key} of run ${who} must be ${offered.join(", ")}; it is ${JSON.stringify(value)}.`);
  }
  const inside = ["rotary", "alibi"].includes(choices.positions);
  if (inside && !choices.context.endsWith("attention")) throw new Error(`positions of run ${who} are ${choices.positions}, which act inside attention; its context is ${choices.context}.`);
  return choices;
}

/**
 * What a tagger sees of the sentence, whatever it makes of it: no training leads above the ceiling of this view.
 * @param {import("./train.js").Choices} choices
 */
export function view({ context, positions }) {
  if (context === "alone") return positions === "none" ? "word" : "word and position";
  if (context === "causal attention") return "everything before";
  return positions === "none" ? "bag of words" : "whole sentence";
}

/** Whether a run has left its random weights, and a curve behind. @param {Run} run */
export const trained = ({ curve }) => curve.some(({ step }) => step > 0);

/** Whether the last accuracy measured is that of the weights a run has now. @param {Run} run */
export const seen = ({ curve, model }) => curve[curve.length - 1]?.step === model.steps;

/**
 * Begin a run from random weights.
 * @param {Choices} choices
 * @param {number} seed
 * @returns {Run}
 */
export function start(choices, seed) {
  const model = build(choices, seed);
  const run = /** @type {Run} */ (/** @type {unknown} */ ({ choices, model, curve: [], loss: NaN, gradient: NaN, rates: 1, diverged: "", exact: null }));
  run.work = work(run, seed);
  return run;
}

/**
 * How many sentences make a piece of work, where so many are cut into equal ones.
 * @param {Run} run
 * @param {number} of
 */
function piece({ model }, of) {
  const most = Math.max(2, PIECE / (13 * model.values.length));
  return Math.ceil(of / Math.ceil(of / most));
}

/**
 * Train without end, piece by piece; the first piece measures the random weights.
 * @param {Run} run
 * @param {number} seed
 * @returns {Generator<void>}
 */
function* work(run, seed) {
  const { model } = run;
  const uniform = uniforms(stream(seed, "batches"));
  let [drawn, due, smooth] = [0, 0, 0];
  for (;;) {
    if (model.steps >= due || model.steps === LAST) {
      if (!seen(run)) yield* look(run);
      // A look costs as much as six steps: on a slow phone it would be most of the first ones.
      due = Math.max(model.steps + 5, Math.ceil(1.06 * model.steps));
    }
    if (model.steps === LAST) return;
    const { rate, batch } = run.choices;
    const sentences = Array.from({ length: batch }, () => draw(() => uniform(drawn++)));
    const among = sentences.reduce((n, { words }) => n + words.length, 0);
    const size = piece(run, batch);
    let loss = 0;
    for (let from = 0; from < batch; from += size) {
      const part = sentences.slice(from, from + size);
      loss += backward(forward(model, part.map(({ words }) => words)), part.map(({ tags }) => tags), among);
      yield;
    }
    run.gradient = querySlope(run);
    adam(model, rate);
    [run.loss, run.exact] = [loss, null];
    smooth += (loss - smooth) / 20;
    if (!Number.isFinite(loss) || smooth > LOST) {
      run.diverged = `diverged at step ${model.steps}: its loss is ${Number.isFinite(loss) ? "far above 1.79, the cost of knowing nothing" : "no number any more"}. A learning rate of ${rate} is too large for it.`;
      yield* look(run);
      return;
    }
    yield;
  }
}

/** Norm of the gradient at the weights that make queries. @param {Run} run */
function querySlope({ model }) {
  let sum = 0;
  for (const [name, { slope }] of model.parameters) if (name.endsWith("q_proj.weight")) for (const x of slope) sum += x * x;
  return Math.sqrt(sum);
}

/**
 * Choose the sample: all sentences lie in a row, as long as they are probable, and one is drawn from each of as many equal parts
 * of it. So each shape has its share, and the sample strays less from the grammar than one that is drawn from the whole: less
 * than its standard error says, which is that of 600 sentences drawn from the whole.
 * @param {Iterable<Tagged & { probability: number }>} [sentences]
 * @param {number} [seed]
 * @returns {Generator<void, Tagged[]>}
 */
export function* choose(sentences = everySentence(), seed = 0) {
  const sample = /** @type {Tagged[]} */ ([]);
  const uniform = uniforms(stream(seed, "sample"));
  let [reach, passed] = [0, 0];
  for (const sentence of sentences) {
    reach += sentence.probability;
    while (reach * SAMPLE > sample.length + uniform(sample.length)) sample.push({ words: sentence.words, tags: sentence.tags });
    if (++passed % 4000 === 0) yield;
  }
  return sample;
}

/** @type {Tagged[] | undefined} */
let sample;

/**
 * Measure on a fixed sample of sentences.
 * @param {Run} run
 * @returns {Generator<void>}
 */
export function* look(run) {
  const chosen = (sample ??= yield* choose());
  const tally = empty();
  const size = piece(run, SAMPLE);
  for (let from = 0; from < SAMPLE; from += size) {
    score(run, chosen.slice(from, from + size), tally);
    yield;
  }
  run.curve.push(reading(run, tally, true));
}

/**
 * Compute the accuracy over every sentence of the grammar, each with its probability.
 * @param {Run} run
 * @returns {Generator<number>} what share of the sentences is done
 */
export function* exactly(run) {
  const tally = empty();
  const size = piece(run, 61_242);
  let [part, done] = [/** @type {(Tagged & { probability: number })[]} */ ([]), 0];
  for (const sentence of everySentence()) {
    if (part.push(sentence) < size) continue;
    score(run, part, tally);
    done += part.length;
    part = [];
    yield done / 61_596;
  }
  score(run, part, tally);
  run.exact = reading(run, tally, false);
  run.curve.push(run.exact);
}

/** @returns {Tally} */
const empty = () => ({ right: 0, all: 0, loss: 0, square: 0, cross: 0, many: 0, guesses: new Map() });

/**
 * Tag sentences and add up what is right.
 * @param {Run} run
 * @param {(Tagged & { probability?: number })[]} sentences
 * @param {Tally} tally
 */
function score({ model }, sentences, tally) {
  const { value, columns } = forward(model, sentences.map(({ words }) => words)).scores;
  let row = 0;
  for (const { words, tags, probability = 1 } of sentences) {
    let right = 0;
    for (let i = 0; i < words.length; i++, row++) {
      const scores = value.subarray(row * columns, (row + 1) * columns);
      let best = 0;
      for (let c = 1; c < columns; c++) if (scores[c] > scores[best]) best = c;
      let total = 0;
      for (let c = 0; c < columns; c++) total += Math.exp(scores[c] - scores[best]);
      right += Number(best === tags[i]);
      tally.loss += probability * (Math.log(total) + scores[best] - scores[tags[i]]);
      if (!CONFUSED.includes(words[i])) continue;
      const key = `${WORDS[words[i]]}/${TAGS[tags[i]]}`;
      const guesses = tally.guesses.get(key) ?? TAGS.map(() => 0);
      guesses[best] += probability;
      tally.guesses.set(key, guesses);
    }
    tally.right += probability * right;
    tally.all += probability * words.length;
    tally.square += right * right;
    tally.cross += right * words.length;
    tally.many += words.length ** 2;
  }
}

/**
 * @param {Run} run
 * @param {Tally} tally
 * @param {boolean} sampled
 * @returns {Reading}
 */
function reading(run, { right, all, loss, square, cross, many, guesses }, sampled) {
  const p = right / all;
  // Sentences are drawn, not words: the error comes from how far each sentence's words lie from their share.
  const error = sampled ? (100 * Math.sqrt(square - 2 * p * cross + p * p * many)) / all : 0;
  return { step: run.model.steps, accuracy: 100 * p, error, loss: loss / all, gradient: run.gradient, guesses };
}

/**
 * Read a sentence of the grammar's words.
 * @param {string} text
 * @param {number} longest
 */
export function numbered(text, longest) {
  const words = text.replace(/[\s.!?]+$/, "").trim().split(/\s+/).filter(Boolean);
  const found = words.map((word) => WORDS.findIndex((known) => known.toLowerCase() === word.toLowerCase()));
  const unknown = words.filter((_, i) => found[i] < 0);
  if (unknown.length) throw new Error(`The grammar has no word “${unknown[0]}”. It knows ${WORDS.join(", ")}.`);
  if (!words.length) throw new Error("Type a sentence of the grammar’s words.");
  if (words.length > longest) throw new Error(`The grammar’s sentences have at most ${longest} words; this has ${words.length}.`);
  return found;
}

/** Weights in single precision, as text. @param {Float64Array} values */
export function packed(values) {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  let text = "";
  for (let from = 0; from < bytes.length; from += 8192) text += String.fromCharCode(...bytes.subarray(from, from + 8192));
  return btoa(text);
}

/**
 * At which step a link was copied, and how many words of 100 were right then. What is no such step is passed over, and so is what
 * belongs to other settings.
 * @param {string | null | undefined} text the link's state
 * @param {Record<string, any>} now the settings that it must agree with
 */
export function sentAt(text, now) {
  try {
    const { sent, ...asked } = JSON.parse(text ?? "");
    const [step, right] = sent;
    const same = Object.entries(now).every(([key, value]) => JSON.stringify(asked[key]) === JSON.stringify(value));
    return same && Number.isInteger(step) && step > 0 && step <= LAST && Number.isFinite(right) && right >= 0 && right <= 100 ? { step, right } : null;
  } catch {
    return null;
  }
}
