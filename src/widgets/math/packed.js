// The weights that ship with the package: a safetensors file, rounded to 4 and 8 bits.

/** @typedef {{ shape: number[], data: Float64Array }} Tensor */

/**
 * Read a safetensors file and undo its rounding to 4 and 8 bits.
 * @param {Uint8Array} bytes
 * @returns {{ card: any, tensors: Record<string, Tensor> }}
 */
export function readModel(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  /** @type {Record<string, { shape: number[], dtype: string, data: Float64Array }>} */
  const stored = {};
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [from, to] = data_offsets.map((/** @type {number} */ o) => o + 8 + length);
    const part = new Uint8Array(bytes.subarray(from, to)); // a copy: its buffer starts where it starts
    const numbers =
      dtype === "F32" ? new Float32Array(part.buffer) : dtype === "I8" ? new Int8Array(part.buffer) : part;
    stored[name] = { shape, dtype, data: Float64Array.from(numbers) };
  }
  /** @type {Record<string, Tensor>} */
  const tensors = {};
  for (const [name, tensor] of Object.entries(stored)) {
    if (name.endsWith(".scale")) continue;
    if (!name.endsWith(".q")) tensors[name] = tensor;
    else {
      const weight = name.slice(0, -2);
      const scale = stored[`${weight}.scale`].data;
      tensors[weight] = tensor.dtype === "U8" ? unpack(tensor, scale) : byRow(tensor, scale);
    }
  }
  return { card: JSON.parse(header.__metadata__.card), tensors };
}

/**
 * Two 4-bit numbers share a byte: columns j (low half) and j + d/2 (high half); one scale a column.
 * @param {Tensor} packed
 * @param {Float64Array} scale
 */
function unpack({ shape: [rows, half], data }, scale) {
  const d = 2 * half;
  const out = new Float64Array(rows * d);
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < half; j++) {
      const byte = data[r * half + j];
      // Rounded to single precision, as torch multiplies: the page and Python then hold the same weights.
      out[r * d + j] = Math.fround(((byte & 15) - 8) * scale[j]);
      out[r * d + half + j] = Math.fround(((byte >> 4) - 8) * scale[half + j]);
    }
  }
  return { shape: [rows, d], data: out };
}

/**
 * @param {Tensor} stored
 * @param {Float64Array} scale one a row
 */
function byRow({ shape, data }, scale) {
  return { shape, data: data.map((x, at) => Math.fround(x * scale[Math.floor(at / shape[1])])) };
}
