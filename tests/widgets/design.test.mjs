// Designs: what words see, how good anybody can be, and what it costs, against the package (attnbook.tagging.views).
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { ceiling, language, shares } from "../../src/widgets/math/ceiling.js";
import { TAGS, WORDS } from "../../src/widgets/math/grammar.js";
import { checked, masks, most, pairs, reading } from "../../src/widgets/math/design.js";

const done = (work) => {
  for (;;) {
    const { value, done } = work.next();
    if (done) return value;
  }
};
const LANGUAGE = done(language());
const best = (given) => done(ceiling(checked(given), LANGUAGE)).best;

test("eighty designs drawn at random: the package's ceilings, confusions, pairs and bytes", () => {
  const cases = golden("design");
  assert.equal(cases.length, 80);
  for (const { ceiling: want, confusion, pairs: price, bytes, wait, sees, ...given } of cases) {
    const design = checked(given);
    const found = done(ceiling(design, LANGUAGE));
    near(found.best, want, 1e-10, JSON.stringify(given));
    const [word, lost, alike] = confusion;
    near(found.confusion.lost, lost, 1e-10, JSON.stringify(given));
    const shown = found.confusion.alike.map(({ words, place, tag }) => [words.map((one) => WORDS[one]), place, TAGS[tag]]);
    assert.deepEqual([WORDS[found.confusion.word], shown], [word, alike], JSON.stringify(given));
    near(pairs(design, LANGUAGE), price, 1e-10);
    assert.deepEqual(reading(design), { bytes, wait }, JSON.stringify(given));
    assert.deepEqual(masks(design).map((layer) => layer[6]), sees);
  }
});

test("what was taken together for one design stays right for others, in any order", () => {
  const some = golden("design").slice(0, 20);
  const fresh = done(language());
  for (const { ceiling: want, ...given } of [...some].reverse()) near(done(ceiling(checked(given), fresh)).best, want, 1e-10);
});

test("shares are kept, and how many there are is not", () => {
  for (const [seen, want] of [[[5, 3, 5, 3], [3, 5]], [[7, 7, 7], [7]], [[2, 1, 2], [1, 2, 2]], [[4], [4]], [[6, 1, 6, 1, 6, 6], [1, 6, 6]]]) {
    const room = Int32Array.from([...seen, ...Array(8 - seen.length).fill(99)]);
    assert.deepEqual([...room.subarray(0, shares(room, seen.length))], want);
  }
});

test("a piece of work is short: the page is let go several times a ceiling", () => {
  const design = checked({ layers: [[-2, -1, 1], [-1, 1]] });
  let pieces = 0;
  for (const work = ceiling(design, LANGUAGE); !work.next().done; ) pieces += 1;
  assert.ok(pieces > 10, `${pieces}`);
  pieces = 0;
  for (const work = language(); !work.next().done; ) pieces += 1;
  assert.ok(pieces > 10, `${pieces}`);
});

test("what no design can be is refused by name", () => {
  for (const [given, message] of [
    [{ layers: [] }, "layers must be one or two lists"],
    [{ layers: [[1], [1], [1]] }, "layers must be one or two lists"],
    [{ layers: [[0]] }, "offsets must be −7 to 7 without 0; one is 0"],
    [{ layers: [[8]] }, "offsets must be −7 to 7 without 0; one is 8"],
    [{ layers: [["1"]] }, 'one is "1"'],
    [{ told: 1 }, "told must be true or false; it is 1"],
    [{ nearest: 9 }, "nearest must be 0 to 8; it is 9"],
    [{ mix: "sum" }, "mix must be attention or mean"],
    [{ told: true, mix: "mean" }, "it can’t be told where"],
  ]) {
    assert.throws(() => checked(given), (error) => error.message.includes(message), JSON.stringify(given));
  }
  assert.deepEqual(checked({ layers: [[2, -1, 2]] }), { layers: [[-1, 2]], told: false, nearest: 0, mix: "attention" });
  assert.equal(most(checked({ layers: [[-3, -1, 1], [1]], nearest: 3 })), 5);
});
