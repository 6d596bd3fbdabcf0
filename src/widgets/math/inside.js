// The weights of all heads of a model for one text, packed as bytes. No DOM.

/**
 * @typedef {{ model: string, pieces: string[], layers: number, heads: number, causal: boolean, weights: string }} Text
 *   weights: base64 of a byte for each weight, 255 for 1: layer by layer, head by head, row by row; of a causal
 *   model each row ends at its own place
 */

/**
 * The bytes of a text.
 * @param {Text} text
 * @returns {Uint8Array}
 */
export function unpack({ pieces, layers, heads, causal, weights }) {
  const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0));
  const n = pieces.length;
  const want = layers * heads * (causal ? (n * (n + 1)) / 2 : n * n);
  if (bytes.length !== want) throw new Error(`weights must hold ${want} numbers for ${n} pieces, they hold ${bytes.length}.`);
  return bytes;
}

/**
 * The weights of one head, (n, n).
 * @param {Text} text
 * @param {Uint8Array} bytes what `unpack` returned
 * @param {number} layer from 0
 * @param {number} head from 0
 * @returns {number[][]}
 */
export function weightsOf({ pieces, heads, causal }, bytes, layer, head) {
  const n = pieces.length;
  const size = causal ? (n * (n + 1)) / 2 : n * n;
  let at = (layer * heads + head) * size;
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (causal && j > i ? 0 : bytes[at++] / 255)),
  );
}
