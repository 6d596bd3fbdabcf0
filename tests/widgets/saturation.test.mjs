// The mathematics of "temperature and √d" against torch in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { WIDTHS, deviation, measure, median, normals, sample } from "../../src/widgets/math/saturation.js";

const { samples, cases, medians, spread } = golden("saturation");

test("normal numbers and sampled scores are those of Python, for any seed", () => {
  for (const { seed, normals: want, row } of samples) {
    near([...normals(seed, 64)], want, 1e-12, `seed ${seed}`);
    const got = sample(seed);
    near(got.map((rows) => rows[63]), row, 1e-12, `seed ${seed}`);
    assert.equal(got.length, WIDTHS.length);
  }
});

test("weights, slopes, entropy and norms, from uniform to one-hot, to 1e-12", () => {
  assert.ok(cases.length === 45);
  for (const { given, want } of cases) {
    const got = measure(given);
    for (const [name, value] of Object.entries(want)) near(got[name], value, 1e-12, `${name} of ${given}`);
    near(got.share * Math.log(given.length), want.entropy, 1e-12);
    near(got.left * Math.sqrt(given.length), want.norm, 1e-12);
  }
});

test("a slope stays exact when 1 − p rounds to zero", () => {
  const { largest, weights } = measure([0, -60]);
  assert.equal(weights[0], 1);
  near(largest * 1e26, Math.exp(-60) * 1e26, 1e-9);
});

test("medians and spread of the sampled rows", () => {
  const rows = sample(0)[WIDTHS.indexOf(256)];
  const all = rows.map((row) => measure(row));
  for (const [name, want] of Object.entries(medians)) near(median(all.map((one) => one[name])), want, 1e-12, name);
  near(deviation(rows.flat()), spread, 1e-12);
});
