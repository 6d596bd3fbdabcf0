// The one product of matrices that training is made of, laid out so that a browser's compiler makes the most of it.

/** @typedef {Float64Array} Numbers rows behind each other */

/**
 * Add a product to a matrix: c[i, j] += Σ_l a[i, l] · b[l, j].
 *
 * Where the next row and the next column of a and b lie is said by steps, so the same loop serves a matrix and its
 * transpose. Four rows by four columns are summed at once: eight numbers are read for sixteen products.
 * @param {Numbers} c (n, m)
 * @param {Numbers} a read as (n, k)
 * @param {Numbers} b read as (k, m)
 * @param {number} n
 * @param {number} k
 * @param {number} m
 * @param {number} aRow from a row of a to the next
 * @param {number} aColumn from a column of a to the next
 * @param {number} bRow
 * @param {number} bColumn
 */
export function addProduct(c, a, b, n, k, m, aRow, aColumn, bRow, bColumn) {
  for (let i = 0; i < n; i += 4) {
    for (let j = 0; j < m; j += 4) {
      if (i + 4 > n || j + 4 > m) {
        addEdge(c, a, b, [i, Math.min(i + 4, n), j, Math.min(j + 4, m), k, m, aRow, aColumn, bRow, bColumn]);
        continue;
      }
      let c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
      let c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
      for (let l = 0, p = i * aRow, q = j * bColumn; l < k; l++, p += aColumn, q += bRow) {
        const a0 = a[p], a1 = a[p + aRow], a2 = a[p + 2 * aRow], a3 = a[p + 3 * aRow];
        const b0 = b[q], b1 = b[q + bColumn], b2 = b[q + 2 * bColumn], b3 = b[q + 3 * bColumn];
        c00 += a0 * b0; c01 += a0 * b1; c02 += a0 * b2; c03 += a0 * b3;
        c10 += a1 * b0; c11 += a1 * b1; c12 += a1 * b2; c13 += a1 * b3;
        c20 += a2 * b0; c21 += a2 * b1; c22 += a2 * b2; c23 += a2 * b3;
        c30 += a3 * b0; c31 += a3 * b1; c32 += a3 * b2; c33 += a3 * b3;
      }
      const r0 = i * m + j, r1 = r0 + m, r2 = r1 + m, r3 = r2 + m;
      c[r0] += c00; c[r0 + 1] += c01; c[r0 + 2] += c02; c[r0 + 3] += c03;
      c[r1] += c10; c[r1 + 1] += c11; c[r1 + 2] += c12; c[r1 + 3] += c13;
      c[r2] += c20; c[r2 + 1] += c21; c[r2 + 2] += c22; c[r2 + 3] += c23;
      c[r3] += c30; c[r3 + 1] += c31; c[r3 + 2] += c32; c[r3 + 3] += c33;
    }
  }
}

/**
 * The same for the last rows and columns, where there are no four.
 * @param {Numbers} c
 * @param {Numbers} a
 * @param {Numbers} b
 * @param {number[]} given
 */
function addEdge(c, a, b, [i0, i1, j0, j1, k, m, aRow, aColumn, bRow, bColumn]) {
  for (let i = i0; i < i1; i++) {
    for (let j = j0; j < j1; j++) {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += a[i * aRow + l * aColumn] * b[l * bRow + j * bColumn];
      c[i * m + j] += sum;
    }
  }
}
