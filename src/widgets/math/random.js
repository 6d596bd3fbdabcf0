// Numbers drawn by integer arithmetic that Python has too: what is drawn in the page is drawn there.

/**
 * Mix the bits of a 32-bit number (the last step of MurmurHash3).
 * @param {number} x
 */
function mixed(x) {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * Numbers between 0 and 1, each as likely as any other: a mixed counter.
 * @param {number} seed
 * @returns {(i: number) => number} the one with number i
 */
export function uniforms(seed) {
  const start = mixed(seed + 0x9e3779b9);
  return (i) => (mixed((i + start) >>> 0) + 0.5) / 2 ** 32;
}
