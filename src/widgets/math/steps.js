// The steps of a pass through a tagger: what each computes, and its way back.
//
// Each takes rows and gives rows. The way back goes from the slopes of the loss along the rows that it gave to those along the
// rows it took and along its parameters, where slopes add up. Together these slopes are the gradient.
import { LONGEST } from "./grammar.js";
import { addProduct } from "./matrices.js";

/** @typedef {import("./train.js").Pass} Pass */
/** @typedef {import("./train.js").Parameter} Parameter */
/** @typedef {{ rows: number, columns: number, value: Float64Array, slope: Float64Array }} Rows what a step gives */

/** @typedef {number[][][]} Sight by the length of a sentence and a word's place: the places it sees */

const EPS = 1e-5;
/** Words are numbered as the package's Vocabulary does: 0 is padding, 1 an unknown word. */
export const KNOWN = 2;

/**
 * Zeros for a pass, which are not kept beyond it: to make new ones at every step would cost as much as to compute.
 * @param {Pass} pass
 * @param {number} size
 */
function zeros({ model: { room } }, size) {
  if (room.used + size > room.numbers.length) Object.assign(room, { numbers: new Float64Array(2 * (room.used + size)), used: 0 });
  room.used += size;
  return room.numbers.subarray(room.used - size, room.used).fill(0);
}

/**
 * @param {Pass} pass
 * @param {number} rows
 * @param {number} columns
 * @returns {Rows}
 */
const empty = (pass, rows, columns) => ({ rows, columns, value: zeros(pass, rows * columns), slope: zeros(pass, rows * columns) });

/** @param {Pass} pass @param {string} name */
const parameter = ({ model }, name) => /** @type {Parameter} */ (model.parameters.get(name));

/**
 * The vector of each word, and what its place adds.
 * @param {Pass} pass
 * @param {{ word: number, place: number }[]} different
 */
export function embed(pass, different) {
  const { positions, d_model: d } = pass.model.choices;
  const table = parameter(pass, "embedding.weight");
  const learned = parameter(pass, "learned.weight");
  const x = empty(pass, different.length, d);
  different.forEach(({ word, place }, row) => {
    for (let c = 0; c < d; c++) {
      let value = table.value[(word + KNOWN) * d + c];
      if (learned) value += learned.value[place * d + c];
      else if (positions === "sinusoidal") value += (c % 2 ? Math.cos : Math.sin)(place * 10000 ** (-(c - (c % 2)) / d));
      x.value[row * d + c] = value;
    }
  });
  pass.back.push(() =>
    different.forEach(({ word, place }, row) => {
      for (let c = 0; c < d; c++) {
        table.slope[(word + KNOWN) * d + c] += x.slope[row * d + c];
        if (learned) learned.slope[place * d + c] += x.slope[row * d + c];
      }
    }),
  );
  return x;
}

/**
 * Rows that are copies of others; all as they are, where there is no list.
 * @param {Pass} pass
 * @param {Rows} x
 * @param {Int32Array | null} which
 */
export function repeat(pass, x, which) {
  if (!which) return x;
  const d = x.columns;
  const y = empty(pass, which.length, d);
  for (let row = 0; row < y.rows; row++) for (let c = 0; c < d; c++) y.value[row * d + c] = x.value[which[row] * d + c];
  pass.back.push(() => {
    for (let row = 0; row < y.rows; row++) for (let c = 0; c < d; c++) x.slope[which[row] * d + c] += y.slope[row * d + c];
  });
  return y;
}

/** y = x Wᵀ + b. @param {Pass} pass @param {Rows} x @param {string} name */
export function linear(pass, x, name) {
  const [weight, bias] = ["weight", "bias"].map((kind) => parameter(pass, `${name}.${kind}`));
  const [n, k, m] = [x.rows, x.columns, weight.shape[0]];
  const y = empty(pass, n, m);
  for (let row = 0; row < n; row++) y.value.set(bias.value, row * m);
  addProduct(y.value, x.value, weight.value, n, k, m, k, 1, 1, k);
  pass.back.push(() => {
    for (let row = 0; row < n; row++) for (let c = 0; c < m; c++) bias.slope[c] += y.slope[row * m + c];
    addProduct(weight.slope, y.slope, x.value, m, n, k, 1, m, k, 1); // dW = dyᵀ x
    addProduct(x.slope, y.slope, weight.value, n, m, k, m, 1, k, 1); // dx = dy W
  });
  return y;
}

/** Layer norm: each row minus its mean, over its deviation, times a gain, plus a shift. @param {Pass} pass @param {Rows} x @param {string} name */
export function norm(pass, x, name) {
  const [gain, shift] = ["weight", "bias"].map((kind) => parameter(pass, `${name}.${kind}`));
  const [n, d] = [x.rows, x.columns];
  const y = empty(pass, n, d);
  const unit = zeros(pass, n * d); // before gain and shift
  const over = zeros(pass, n);
  for (let row = 0; row < n; row++) {
    const from = row * d;
    let [middle, square] = [0, 0];
    for (let c = 0; c < d; c++) middle += x.value[from + c];
    middle /= d;
    for (let c = 0; c < d; c++) square += (x.value[from + c] - middle) ** 2;
    over[row] = 1 / Math.sqrt(square / d + EPS);
    for (let c = 0; c < d; c++) {
      unit[from + c] = (x.value[from + c] - middle) * over[row];
      y.value[from + c] = unit[from + c] * gain.value[c] + shift.value[c];
    }
  }
  pass.back.push(() => {
    for (let row = 0; row < n; row++) {
      const from = row * d;
      let [along, across] = [0, 0]; // means of the slope of `unit`, and of its product with `unit`
      for (let c = 0; c < d; c++) {
        const slope = y.slope[from + c];
        gain.slope[c] += slope * unit[from + c];
        shift.slope[c] += slope;
        along += slope * gain.value[c];
        across += slope * gain.value[c] * unit[from + c];
      }
      along /= d;
      across /= d;
      for (let c = 0; c < d; c++) x.slope[from + c] += over[row] * (y.slope[from + c] * gain.value[c] - along - unit[from + c] * across);
    }
  });
  return y;
}

/** Each pair of a head's entries turned by an angle that grows with its place (RoPE). @param {Pass} pass @param {Rows} x @param {number} n_heads */
export function turn(pass, x, n_heads) {
  const d = x.columns;
  const wide = d / n_heads;
  const y = empty(pass, x.rows, d);
  // Turning the slopes the other way round is the way back.
  const turned = (/** @type {Float64Array} */ to, /** @type {Float64Array} */ from, /** @type {number} */ sign) => {
    for (let s = 0; s + 1 < pass.starts.length; s++) {
      for (let place = 0, row = pass.starts[s]; row < pass.starts[s + 1]; place++, row++) {
        for (let c = 0; c < d; c += 2) {
          const at = row * d + c;
          const [cos, sin] = angle(place, c % wide, wide);
          to[at] += from[at] * cos - sign * from[at + 1] * sin;
          to[at + 1] += from[at + 1] * cos + sign * from[at] * sin;
        }
      }
    }
  };
  turned(y.value, x.value, 1);
  pass.back.push(() => turned(x.slope, y.slope, -1));
  return y;
}

/** Cosine and sine, by width, entry and place. @type {[number, number][][][]} */
const angles = [];
const angle = (/** @type {number} */ place, /** @type {number} */ entry, /** @type {number} */ wide) => {
  const table = (angles[wide] ??= Array.from({ length: wide }, (_, c) =>
    Array.from({ length: LONGEST }, (_, p) => [Math.cos(p * 10000 ** (-c / wide)), Math.sin(p * 10000 ** (-c / wide))]),
  ));
  return table[entry][place];
};

/**
 * Attention: each word of a sentence takes a weighted mean of the values of all, the weights from a softmax of the scores q·k.
 * @param {Pass} pass
 * @param {Rows} q
 * @param {Rows} k
 * @param {Rows} v
 * @param {{ n_heads: number, scale: number, sight: Sight, alibi: boolean }} given
 */
export function attend(pass, q, k, v, { n_heads, scale, sight, alibi }) {
  const { starts } = pass;
  const d = q.columns;
  const wide = d / n_heads;
  const y = empty(pass, q.rows, d);
  // Row by row, head by head, a weight for each place of the sentence.
  const weights = zeros(pass, q.rows * n_heads * LONGEST);
  pass.weights.push(weights);
  const [Q, K, V, Y] = [q.value, k.value, v.value, y.value];
  each(starts, n_heads, sight, (i, head, first, seen) => {
    const at = (i * n_heads + head) * LONGEST;
    const slope = alibi ? 2 ** ((-8 * (head + 1)) / n_heads) : 0;
    const mine = i * d + head * wide;
    let most = -Infinity;
    for (let l = 0; l < seen.length; l++) {
      const j = first + seen[l];
      const theirs = j * d + head * wide;
      let score = 0;
      for (let c = 0; c < wide; c++) score += Q[mine + c] * K[theirs + c];
      score = score * scale - slope * Math.abs(i - j);
      weights[at + seen[l]] = score;
      most = Math.max(most, score);
    }
    let total = 0;
    for (let l = 0; l < seen.length; l++) total += weights[at + seen[l]] = Math.exp(weights[at + seen[l]] - most);
    for (let l = 0; l < seen.length; l++) {
      const theirs = (first + seen[l]) * d + head * wide;
      const weight = (weights[at + seen[l]] /= total);
      for (let c = 0; c < wide; c++) Y[mine + c] += weight * V[theirs + c];
    }
  });
  const [dQ, dK, dV, dY] = [q.slope, k.slope, v.slope, y.slope];
  const dP = new Float64Array(LONGEST);
  pass.back.push(() =>
    each(starts, n_heads, sight, (i, head, first, seen) => {
      const at = (i * n_heads + head) * LONGEST;
      const mine = i * d + head * wide;
      let middle = 0; // Σ_j p_j ∂L/∂p_j
      for (let l = 0; l < seen.length; l++) {
        const theirs = (first + seen[l]) * d + head * wide;
        const weight = weights[at + seen[l]];
        let slope = 0;
        for (let c = 0; c < wide; c++) {
          slope += dY[mine + c] * V[theirs + c];
          dV[theirs + c] += weight * dY[mine + c];
        }
        dP[l] = slope;
        middle += weight * slope;
      }
      for (let l = 0; l < seen.length; l++) {
        // The softmax's way back: ∂L/∂z_j = p_j (∂L/∂p_j − Σ_l p_l ∂L/∂p_l).
        const slope = scale * weights[at + seen[l]] * (dP[l] - middle);
        const theirs = (first + seen[l]) * d + head * wide;
        for (let c = 0; c < wide; c++) {
          dQ[mine + c] += slope * K[theirs + c];
          dK[theirs + c] += slope * Q[mine + c];
        }
      }
    }),
  );
  return y;
}

/**
 * Visit every word that asks, with every head: its row, the head, the row of its sentence's first word, and the places it sees.
 * @param {number[]} starts
 * @param {number} n_heads
 * @param {Sight} sight
 * @param {(row: number, head: number, first: number, seen: number[]) => void} visit
 */
function each(starts, n_heads, sight, visit) {
  for (let s = 0; s + 1 < starts.length; s++) {
    const rows = sight[starts[s + 1] - starts[s]];
    for (let row = starts[s]; row < starts[s + 1]; row++) {
      for (let head = 0; head < n_heads; head++) visit(row, head, starts[s], rows[row - starts[s]]);
    }
  }
}

/** The mean of the rows that each word sees. @param {Pass} pass @param {Rows} x @param {Sight} sight */
export function mean(pass, x, sight) {
  const d = x.columns;
  const y = empty(pass, x.rows, d);
  // The way back gives each row its share of the slopes of all who heard it.
  const averaged = (/** @type {Float64Array} */ to, /** @type {Float64Array} */ from, /** @type {boolean} */ back) =>
    each(pass.starts, 1, sight, (i, _, first, seen) => {
      for (let l = 0; l < seen.length; l++) {
        const j = first + seen[l];
        const [into, out] = back ? [j * d, i * d] : [i * d, j * d];
        for (let c = 0; c < d; c++) to[into + c] += from[out + c] / seen.length;
      }
    });
  averaged(y.value, x.value, false);
  pass.back.push(() => averaged(x.slope, y.slope, true));
  return y;
}

/** What is positive. @param {Pass} pass @param {Rows} x */
export function relu(pass, x) {
  const y = empty(pass, x.rows, x.columns);
  for (let i = 0; i < x.value.length; i++) y.value[i] = Math.max(x.value[i], 0);
  pass.back.push(() => {
    for (let i = 0; i < x.value.length; i++) if (x.value[i] > 0) x.slope[i] += y.slope[i];
  });
  return y;
}

/** @param {Pass} pass @param {Rows} a @param {Rows} b */
export function sum(pass, a, b) {
  const y = empty(pass, a.rows, a.columns);
  for (let i = 0; i < y.value.length; i++) y.value[i] = a.value[i] + b.value[i];
  pass.back.push(() => {
    for (let i = 0; i < y.value.length; i++) {
      a.slope[i] += y.slope[i];
      b.slope[i] += y.slope[i];
    }
  });
  return y;
}
