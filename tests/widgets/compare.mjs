// What the tests of the figures' mathematics share: the goldens, and a comparison of nested numbers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** Read tests/widgets/goldens/NAME.json, which make_goldens.py wrote. */
export const golden = (name) => JSON.parse(readFileSync(new URL(`./goldens/${name}.json`, import.meta.url), "utf8"));

/** Compare nested numbers; the tolerance is relative to numbers larger than one. */
export function near(got, want, tolerance, where = "$") {
  if (Array.isArray(want)) {
    assert.equal(got.length, want.length, where);
    want.forEach((value, at) => near(got[at], value, tolerance, `${where}[${at}]`));
  } else {
    const gap = Math.abs(got - want) / Math.max(1, Math.abs(want));
    assert.ok(gap <= tolerance, `${where}: ${got} instead of ${want}`);
  }
}
