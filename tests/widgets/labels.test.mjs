// Names in the playground's curves: none covers another, and none leaves the drawing.
import assert from "node:assert/strict";
import test from "node:test";
import { ceilings, layout, letters } from "../../src/widgets/ui/curves.js";
import { arrange, boxed, inside, meet, sized } from "../../src/widgets/ui/labels.js";
import { CEILINGS } from "../../src/widgets/math/playground.js";

const VIEWS = Object.keys(CEILINGS).filter((view) => view !== "both neighbours"); // no run sees just these
/** The ceilings of no run that has trained, of one, and of two. */
const FLOORS = [[], ...VIEWS.flatMap((one) => [[one], ...VIEWS.map((other) => [one, other])])];
const SIZES = [[240, 132], [262, 132], [332, 132], [430, 132], [560, 226], [560, 264], [900, 264]];

/** @param {import("../../src/widgets/ui/labels.js").Box[]} boxes */
const apart = (boxes) => boxes.every((box, i) => boxes.slice(i + 1).every((other) => !meet(box, other)));
/** A drawing's plot and where a name may stand in it. @param {number} wide @param {string} name @param {number} [high] */
function drawing(wide, name, high) {
  const [plot] = layout(wide, [name], high);
  return { plot, room: { left: 0, right: wide, top: plot.y - 4, bottom: plot.bottom } };
}

test("a loss that rises is seen to rise: its axis reaches to the largest", () => {
  const on = (/** @type {number} */ most) => layout(560, ["loss"], 100, most)[0];
  assert.deepEqual([0, 2.9, 3.1, 58].map((most) => on(most).top), [3, 3, 10, 100]);
  assert.equal(on(0).on(58), on(0).y, "past its end a curve is cut");
  assert.ok(on(58).on(58) > on(58).y && on(58).on(58) < on(58).on(10));
  assert.equal(on(58).ticks.length, on(0).ticks.length + 1);
});

test("boxes that share an edge do not meet", () => {
  const box = { left: 0, top: 0, right: 10, bottom: 10 };
  assert.ok(meet(box, { left: 9, top: 9, right: 20, bottom: 20 }));
  assert.ok(!meet(box, { left: 10, top: 0, right: 20, bottom: 10 }));
  assert.ok(!meet(box, { left: 0, top: 10, right: 10, bottom: 20 }));
  assert.ok(inside(box, box) && !inside(box, { ...box, right: 9 }));
  const size = sized("abcd", 10);
  assert.deepEqual(size, { wide: 4.25 * 5.8, up: 9, down: 2.5 });
  assert.deepEqual(boxed(100, 50, size, true), { left: 99 - 4.25 * 5.8, right: 101, top: 41, bottom: 52.5 }, "ink reaches a little beyond the anchor");
});

test("what costs least together is taken, not what is best for the first", () => {
  const at = (/** @type {number} */ top, /** @type {number} */ cost) => ({ cost, box: { left: 0, right: 10, top, bottom: top + 10 } });
  const room = { left: 0, right: 10, top: 0, bottom: 100 };
  // Where the first would stand best, it leaves the second a place that costs 9.
  const names = [[at(0, 0), at(20, 2)], [at(5, 0), at(40, 9)]];
  assert.deepEqual(arrange(names, room).map((place) => place?.box.top), [20, 5]);
  assert.deepEqual(arrange(names, room, [at(25, 0).box]).map((place) => place?.box.top), [0, 40]);
  assert.deepEqual(arrange(names, { ...room, bottom: 14 }), [undefined, undefined]);
});

test("every ceiling that is drawn is named, at its line and in the order of the lines", () => {
  for (const [wide, high] of SIZES) {
    for (const floors of FLOORS) {
      const { plot, room } = drawing(wide, "accuracy", high);
      const named = ceilings(plot, floors);
      const where = `${wide} ${high} ${floors}`;
      assert.equal(named.length, floors.includes("word and position") ? 6 : 5, where);
      assert.ok(apart(named.map(({ box }) => box)), where);
      assert.ok(named.every(({ box }) => inside(box, room)), where);
      // The ceilings stand from the lowest to the highest, and so do their names.
      assert.ok(named.every(({ y }, i) => !i || y < named[i - 1].y), where);
      assert.equal(named.filter(({ look }) => look["font-weight"] === 700).length, new Set(floors).size, where);
    }
  }
});

test("on a phone the lowest name goes below its line; where there is room names are where they were", () => {
  const tell = (/** @type {number} */ wide, /** @type {number} */ high, floors = []) => {
    const { plot } = drawing(wide, "accuracy", high);
    return ceilings(plot, floors).map(({ words, y, left }, i) => [words, Math.round(y - plot.on(100 - Object.values(CEILINGS).filter((_, v) => v !== 1 || floors.length)[i].accuracy)), left]);
  };
  assert.deepEqual(tell(262, 132), [
    ["word 74.5 %", 13, false], ["bag of words 86.4 %", -4, false], ["before 95.2 %", -4, false],
    ["both neighbours 98.6 %", -4, true], ["whole sentence 99.6 %", -4, true],
  ]);
  assert.deepEqual(tell(560, 226), [
    ["word 74.5 %", -4, false], ["bag of words 86.4 %", -4, false], ["everything before 95.2 %", 13, false],
    ["both neighbours 98.6 %", -4, true], ["whole sentence 99.6 %", -4, true],
  ]);
  assert.deepEqual(tell(262, 132, ["word and position"]).slice(0, 3), [
    ["word 74.5 %", 21, false], ["word and position 82.3 %", 13, false], ["bag of words 86.4 %", -4, false],
  ]);
});

test("the least losses are named, too", () => {
  for (const wide of [262, 332, 560, 900]) {
    for (const floors of FLOORS) {
      const { plot, room } = drawing(wide, "loss");
      const named = ceilings(plot, floors);
      assert.equal(named.length, new Set(floors).size, `${wide} ${floors}`);
      assert.ok(apart(named.map(({ box }) => box)) && named.every(({ box }) => inside(box, room)), `${wide} ${floors}`);
    }
  }
  assert.deepEqual(ceilings(drawing(560, "gradient").plot, ["word", "bag of words"]), []);
});

test("letters of runs cover no name and no other letter, wherever their curves end", () => {
  let seed = 7;
  const draw = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (const [wide, high] of SIZES.slice(1)) {
    for (const floors of FLOORS) {
      const { plot, room } = drawing(wide, "accuracy", high);
      const taken = ceilings(plot, floors).map(({ box }) => box);
      const free = { ...room, left: 44 };
      const anywhere = () => ({ x: 44 + plot.across * draw(), y: plot.y + high * draw() });
      for (let k = 0; k < 24; k++) {
        const one = anywhere();
        // Two curves that part, that go together, and that end at the same place, at the last step.
        const other = [anywhere(), { x: one.x, y: Math.min(one.y + 5 * draw(), plot.bottom) }, { ...one }][k % 3];
        if (k % 4 === 0) one.x = other.x = 44 + plot.across;
        const found = letters([one, other], ["A", "B"], taken, free);
        const where = `${wide} ${high} ${floors}: ${JSON.stringify([one, other])}`;
        assert.equal(found.length, 2, where);
        const boxes = found.map((place) => /** @type {any} */ (place).box);
        assert.ok(apart([...boxes, ...taken].filter((box, i) => i < 2 || boxes.some((letter) => meet(box, letter)))), where);
        assert.ok(boxes.every((box) => inside(box, free)), where);
        assert.ok(boxes.every((box) => ![one, other].some(({ x, y }) => meet(box, { left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 }))), where);
      }
    }
  }
});

test("a letter stands right of its dot where nothing is in its way, and yields to a name", () => {
  const room = { left: 44, right: 262, top: 18, bottom: 154 };
  assert.deepEqual(letters([{ x: 100, y: 140 }], ["A"], [], room).map((place) => [place?.x, place?.y]), [[107, 144]]);
  const name = { left: 110, right: 250, top: 100, bottom: 115 };
  const [yielded] = letters([{ x: 120, y: 120 }], ["A"], [name], room);
  assert.deepEqual([yielded?.x, yielded?.y], [127, 128]); // four lower, below the name
});
