// How a layer looks among others, by the letter of its kind (KINDS of math/anatomy.js).

/** Where its parts begin and how tall they are, of a height of 1, and whether they are hollow. @type {Record<string, [number, number, 1?][]>} */
export const LAYERS = {
  F: [[0, 1]],
  W: [[0.55, 0.45]],
  B: [[0.55, 0.45, 1]],
  S: [[0, 0.24], [0.38, 0.24], [0.76, 0.24]],
  P: [[0, 0.24], [0.38, 0.62]],
  L: [[0.04, 0.92, 1]],
  H: [[0.04, 0.92, 1], [0.5, 0.46]],
  C: [[0.8, 0.2]],
  X: [[0.3, 0.4, 1]],
  N: [[0.94, 0.06]],
};
