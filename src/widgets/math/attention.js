// Attention on plain arrays of rows, in double precision. No DOM here: node tests hold it to torch.

/** @typedef {number[][]} Matrix rows of numbers */

/**
 * What a figure was given, if it is a matrix.
 * @param {string} key what the message calls it
 * @param {any} rows
 * @returns {Matrix}
 */
export function matrix(key, rows) {
  const good =
    Array.isArray(rows) && rows.length > 0 && rows.every((row) => Array.isArray(row) && row.length > 0 && row.length === rows[0].length && row.every(Number.isFinite));
  if (!good) throw new Error(`${key} must be rows of numbers, all of one length.`);
  return rows;
}

/**
 * @param {Matrix} a (n, d)
 * @param {Matrix} b (d, m)
 * @returns {Matrix} (n, m)
 */
export const matmul = (a, b) =>
  a.map((row) => b[0].map((_, j) => row.reduce((sum, x, d) => sum + x * b[d][j], 0)));

/**
 * @param {Matrix} a
 * @returns {Matrix}
 */
export const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));

/**
 * Softmax of one row; the largest score is subtracted first, -Infinity means "not allowed".
 * @param {number[]} row
 * @returns {number[]} weights; all zeros if nothing is allowed
 */
export function softmax(row) {
  const top = Math.max(...row);
  if (top === -Infinity) return row.map(() => 0);
  const e = row.map((s) => Math.exp(s - top));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / sum);
}

/**
 * Every step of single-head attention.
 * @param {{ x: Matrix, wq: Matrix, wk: Matrix, wv: Matrix, scale?: number | null, causal?: boolean }} given
 */
export function attend({ x, wq, wk, wv, scale = null, causal = false }) {
  const [q, k, v] = [wq, wk, wv].map((w) => matmul(x, w));
  const scores = matmul(q, transpose(k));
  const factor = scale ?? 1 / Math.sqrt(q[0].length);
  const scaled = scores.map((row, i) => row.map((s, j) => (causal && j > i ? -Infinity : s * factor)));
  const weights = scaled.map(softmax);
  return { q, k, v, scores, factor, scaled, weights, output: matmul(weights, v) };
}

/**
 * Layer normalisation of one row.
 * @param {ArrayLike<number>} row
 * @param {ArrayLike<number>} gain
 * @param {ArrayLike<number>} shift
 */
export function layerNorm(row, gain, shift) {
  const n = row.length;
  let mean = 0;
  for (let i = 0; i < n; i++) mean += row[i] / n;
  let variance = 0;
  for (let i = 0; i < n; i++) variance += (row[i] - mean) ** 2 / n;
  const spread = Math.sqrt(variance + 1e-5);
  return Array.from({ length: n }, (_, i) => ((row[i] - mean) / spread) * gain[i] + shift[i]);
}

/**
 * Turn pairs (2i, 2i+1) of a head by position * base^(-2i/d).
 * @param {number[]} row
 * @param {number} position
 * @param {number} [base]
 */
export function rotary(row, position, base = 10000) {
  const out = row.slice();
  for (let i = 0; i < row.length; i += 2) {
    const angle = position * base ** (-i / row.length);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    out[i] = row[i] * cos - row[i + 1] * sin;
    out[i + 1] = row[i] * sin + row[i + 1] * cos;
  }
  return out;
}
