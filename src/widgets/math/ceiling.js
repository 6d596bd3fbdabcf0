// How good any model can be that sees sentences through a design: exactly, over all sentences of the grammar, in pieces that leave a
// page its frames. The package's attnbook.tagging.views says the same and proves it, and the tests compare them.
import { FARTHEST, masks } from "./design.js";
import { everySentence, LEXICON, LONGEST, TAGS, WORDS } from "./grammar.js";

/** @typedef {import("./design.js").Design} Design */

const SPAN = 2 * FARTHEST + 1;
/** Words of all sentences, and what stands between them: so many at most. */
const ROOM = 1 << 20;
/** Farther than so nearly all places look different. */
const NEAR = 3;
/** Places numbered before a generator lets others have a turn. */
const PIECE = 8000;
/** Larger by less is rounding. */
const MORE = 1 + 1e-9;

/** Whether a word has several tags. */
const OPEN = WORDS.map((word) => new Set(Object.entries(LEXICON).filter(([, words]) => words.some(([one]) => one === word)).map(([symbol]) => symbol.slice(0, 4))).size > 1);
/**
 * Words that have one tag, and stand where another one does as often in proportion, as *a* and *the*, have one number: that of the
 * one that is used most. Which of them stands at a place that one knows tells nothing of any tag. (Among words in a bag it can: it may
 * betray that two of them are one.)
 */
export const KINDS = (() => {
  const often = WORDS.map((word) => Object.values(LEXICON).map((words) => words.find(([one]) => one === word)?.[1] ?? 0));
  const total = often.map((all) => all.reduce((a, b) => a + b));
  const all = often.map((row, i) => (OPEN[i] ? WORDS[i] : row.map((share) => (share / total[i]).toFixed(9)).join()));
  return all.map((one) => all.reduce((best, other, i) => (other === one && (best < 0 || total[i] > total[best]) ? i : best), -1));
})();
/** Of the words with one number, the share of the one that is used most. */
const SHARE = WORDS.map((_, word) => {
  const [symbol] = Object.keys(LEXICON).filter((one) => LEXICON[one].some(([other]) => other === WORDS[word]));
  const alike = LEXICON[symbol].filter(([other]) => KINDS[WORDS.indexOf(other)] === KINDS[word]);
  return Math.max(...alike.map(([, share]) => share)) / alike.reduce((sum, [, share]) => sum + share, 0);
});

/**
 * Every place where a word with several tags stands, once for each tag that it has there.
 * @typedef {{ shape: Uint8Array, tag: Uint8Array, mass: Float64Array, word: Uint8Array }} Places `shape`: the length of the sentence and the
 *   place in it; `mass`: how probable the sentence is
 * @typedef {Places & { before: Int32Array, after: Int32Array }} Short words of one number taken together: of each place the word itself
 *   and, four bits each, those before and after it, the nearest first; every number is one more than that in `NUMBERS`, 0 is no word
 * @typedef {Places & { words: Int32Array, shapes: Uint8Array, at: Int32Array }} Long all sentences, their words in a row with room on both
 *   sides: where there is no word stands 0; `shapes`: of each word there, as `shape`; `at`: of each place, where in the row
 * @typedef {{ short: Short, long: Long | null, sure: number, all: number, lengths: number[], groups: Map<number, Group> }} Language
 *   `sure`: the mass of words with one tag; `groups`: see `grouped`
 * @typedef {{ at: Int32Array, word: Uint8Array, sums: Float64Array, which: Int32Array }} Group places of which no two look alike, the mass of each
 *   tag there, and which of them stands for each place
 */

const NUMBERS = [...new Set(KINDS)];
/** The same word everywhere, as often as it fits in. */
const EVERYWHERE = 0x1111111;

/**
 * Write down all sentences of the grammar.
 * @returns {Generator<void, Language>}
 */
export function* language() {
  const number = KINDS.map((kind) => NUMBERS.indexOf(kind) + 1);
  const together = (/** @type {[number, number, number][]} */ words) =>
    words.flatMap(([tag, word], i) => {
      const alike = words.filter(([, other]) => KINDS[other] === KINDS[word]);
      return alike[0] === words[i] ? [/** @type {[number, number, number]} */ ([tag, KINDS[word], alike.reduce((sum, [, , share]) => sum + share, 0)])] : [];
    });
  const many = 1 << 17;
  const [shape, tag, word] = [0, 1, 2].map(() => new Uint8Array(many));
  const [before, after] = [0, 1].map(() => new Int32Array(many));
  const mass = new Float64Array(many);
  const lengths = Array(LONGEST + 1).fill(0);
  let [count, sure, all, passed] = [0, 0, 0, 0];
  for (const { words, tags, probability: p } of everySentence(together)) {
    const n = words.length;
    lengths[n] += p;
    all += n * p;
    for (let i = 0; i < n; i++) {
      if (!OPEN[words[i]]) {
        sure += p;
        continue;
      }
      let [left, right] = [0, 0];
      for (let j = 0; j < i; j++) left |= number[words[j]] << (4 * (i - j - 1));
      for (let j = i + 1; j < n; j++) right |= number[words[j]] << (4 * (j - i - 1));
      [shape[count], tag[count], mass[count], word[count], before[count], after[count++]] = [n * LONGEST + i, tags[i], p, words[i], left, right];
    }
    if (++passed % 1000 === 0) yield;
  }
  const short = { shape: shape.subarray(0, count), tag, mass, word, before, after };
  return { short, long: null, sure, all, lengths, groups: new Map() };
}

/**
 * Write down all sentences word by word, once.
 * @param {Language} language
 * @returns {Generator<void, Long>}
 */
function* spelled(language) {
  if (language.long) return language.long;
  const words = new Int32Array(ROOM);
  const shapes = new Uint8Array(ROOM);
  const [at, shape, tag, word, mass] = [new Int32Array(ROOM / 2), new Uint8Array(ROOM / 2), new Uint8Array(ROOM / 2), new Uint8Array(ROOM / 2), new Float64Array(ROOM / 2)];
  let [end, count, passed] = [FARTHEST, 0, 0];
  for (const sentence of everySentence()) {
    const n = sentence.words.length;
    for (let i = 0; i < n; i++, end++) {
      const one = sentence.words[i];
      [words[end], shapes[end]] = [one + 1, n * LONGEST + i];
      if (OPEN[one]) [at[count], shape[count], tag[count], word[count], mass[count++]] = [end, n * LONGEST + i, sentence.tags[i], one, sentence.probability];
    }
    end += FARTHEST;
    if (++passed % 1000 === 0) yield;
  }
  language.long = { words: words.subarray(0, end), shapes: shapes.subarray(0, end), at: at.subarray(0, count), shape: shape.subarray(0, count), tag, word, mass };
  return language.long;
}

/**
 * Take together what looks alike to all who see no farther than so: of its places one stays. What was taken together once stays so.
 * @param {Language} language
 * @param {number} reach
 * @returns {Generator<void, Group>}
 */
function* grouped(language, reach) {
  const known = language.groups.get(reach);
  if (known) return known;
  const { words, at, tag, word, mass } = yield* spelled(language);
  const which = new Int32Array(at.length);
  const kept = [];
  if (reach > NEAR) for (let p = 0; p < at.length; p++) which[p] = kept.push(p) - 1;
  else {
    const tree = new Tree();
    const numbers = new Map();
    for (let p = 0; p < at.length; p++) {
      if (p % PIECE === PIECE - 1) yield;
      let node = 0;
      for (let i = at[p] - reach; i <= at[p] + reach; i++) node = tree.step(node, words[i]);
      let number = numbers.get(node);
      if (number === undefined) numbers.set(node, (number = kept.push(p) - 1));
      which[p] = number;
    }
  }
  yield;
  const sums = new Float64Array(kept.length * TAGS.length);
  for (let p = 0; p < at.length; p++) sums[which[p] * TAGS.length + tag[p]] += mass[p];
  const group = { at: Int32Array.from(kept, (p) => at[p]), word: Uint8Array.from(kept, (p) => word[p]), sums, which };
  language.groups.set(reach, group);
  return group;
}

/** Numbers triples of whole numbers in the order in which they come. */
class Numbers {
  /** @param {number} most so many at most */
  constructor(most) {
    this.count = 0;
    const size = 1 << (33 - Math.clz32(most));
    this.#last = size - 1;
    this.#number = new Int32Array(size).fill(-1);
    [this.#a, this.#b, this.#c] = [0, 1, 2].map(() => new Int32Array(size));
  }

  #last = 0;
  #number = new Int32Array(0);
  #a = new Int32Array(0);
  #b = new Int32Array(0);
  #c = new Int32Array(0);

  /** @param {number} a @param {number} b @param {number} c @returns {number} */
  of(a, b, c) {
    let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
    hash ^= hash >>> 15;
    for (let slot = hash & this.#last; ; slot = (slot + 1) & this.#last) {
      if (this.#number[slot] < 0) {
        [this.#a[slot], this.#b[slot], this.#c[slot]] = [a, b, c];
        return (this.#number[slot] = this.count++);
      }
      if (this.#a[slot] === a && this.#b[slot] === b && this.#c[slot] === c) return this.#number[slot];
    }
  }
}

/**
 * Number what is seen: the same number for the same things in the same order, and no other. A tree whose edges are hashed.
 */
class Tree {
  constructor() {
    this.nodes = 0;
    this.#grow(1 << 15);
  }

  #size = 0;
  #from = new Int32Array(0);
  #what = new Int32Array(0);
  #to = new Int32Array(0);

  /** @param {number} size */
  #grow(size) {
    const [from, what, to] = [this.#from, this.#what, this.#to];
    this.#size = size;
    [this.#from, this.#what, this.#to] = [new Int32Array(size).fill(-1), new Int32Array(size), new Int32Array(size)];
    for (let slot = 0; slot < from.length; slot++) if (from[slot] >= 0) this.#put(this.#find(from[slot], what[slot]), from[slot], what[slot], to[slot]);
  }

  /** @param {number} from @param {number} what */
  #find(from, what) {
    const [last, froms, whats] = [this.#size - 1, this.#from, this.#what];
    let hash = Math.imul(from, 0x9e3779b1) ^ Math.imul(what, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = hash & last; ; slot = (slot + 1) & last) if (froms[slot] < 0 || (froms[slot] === from && whats[slot] === what)) return slot;
  }

  /** @param {number} slot @param {number} from @param {number} what @param {number} to */
  #put(slot, from, what, to) {
    this.#from[slot] = from;
    this.#what[slot] = what;
    this.#to[slot] = to;
  }

  /** The node one step on. @param {number} from 0: the root @param {number} what @returns {number} */
  step(from, what) {
    const slot = this.#find(from, what);
    if (this.#from[slot] >= 0) return this.#to[slot];
    const node = ++this.nodes;
    this.#put(slot, from, what, node);
    if (this.nodes * 2 > this.#size) this.#grow(2 * this.#size);
    return node;
  }
}

/**
 * Two places that look alike and want different tags: the word that loses most by the view, how much of all words that is, and where it
 * loses most, for the two most probable tags, the sentence each in which the tag's lead over all others is largest; where it has none
 * anywhere, the most probable sentence.
 * @typedef {{ word: number, lost: number, alike: { words: number[], place: number, tag: number }[] }} Confusion
 * @typedef {{ best: number, confusion: Confusion | null }} Judged `best`: the best accuracy of any model, 0 to 1
 */

/**
 * The best accuracy of any model that sees sentences through a design, and what it confuses.
 *
 * A word knows what a softmax of any weights can pass on. Told, that is at which offset it sees which word, but nothing where every word
 * seen is the word itself; untold, the shares of the words seen, itself among them. In a second layer, the same of what each saw in the
 * first.
 * @param {Design} design
 * @param {Language} language
 * @returns {Generator<void, Judged>}
 */
export function* ceiling(design, language) {
  if (design.layers.length > 1) return yield* deep(design, language);
  return yield* design.told ? places(design, language) : bags(design, language);
}

/** One layer, told where. @param {Design} design @param {Language} language @returns {Generator<void, Judged>} */
function* places(design, language) {
  const { shape, tag, mass, word, before, after } = language.short;
  const [left, right] = [0, 1].map(() => new Int32Array(LONGEST * (LONGEST + 1)));
  masks(design)[0].forEach((sentence, n) => sentence.forEach((seen, i) => {
    for (const j of seen) {
      if (j < i) left[n * LONGEST + i] |= 15 << (4 * (i - j - 1));
      if (j > i) right[n * LONGEST + i] |= 15 << (4 * (j - i - 1));
    }
  }));
  const numbers = new Numbers(shape.length);
  const view = new Int32Array(shape.length);
  const own = WORDS.map((_, i) => Math.imul(NUMBERS.indexOf(KINDS[i]) + 1, EVERYWHERE));
  for (let p = 0; p < shape.length; p++) {
    if (p % (4 * PIECE) === 4 * PIECE - 1) yield;
    const [l, r, same] = [left[shape[p]], right[shape[p]], own[word[p]]];
    const alone = !((before[p] ^ same) & l) && !((after[p] ^ same) & r);
    view[p] = alone ? numbers.of(0, 0, word[p]) : numbers.of(before[p] & l, after[p] & r, word[p]);
  }
  yield;
  const sums = new Float64Array(numbers.count * TAGS.length);
  const wordOf = new Uint8Array(numbers.count);
  const some = new Int32Array(numbers.count);
  for (let p = 0; p < shape.length; p++) {
    sums[view[p] * TAGS.length + tag[p]] += mass[p];
    wordOf[view[p]] = word[p];
    some[view[p]] = p;
  }
  const share = [1, ...NUMBERS.map((word) => SHARE[word])];
  /** How much of a view has the usual words. @param {number} look */
  const usual = (look) => {
    const p = some[look];
    const [l, r, same] = [left[shape[p]], right[shape[p]], own[word[p]]];
    if (!((before[p] ^ same) & l) && !((after[p] ^ same) & r)) return 1;
    let part = 1;
    for (let x = before[p] & l; x; x >>>= 4) part *= share[x & 15];
    for (let x = after[p] & r; x; x >>>= 4) part *= share[x & 15];
    return part;
  };
  const read = (/** @type {number} */ p) => {
    const place = shape[p] % LONGEST;
    let part = mass[p];
    for (let x = before[p]; x; x >>>= 4) part *= share[x & 15];
    for (let x = after[p]; x; x >>>= 4) part *= share[x & 15];
    return { key: (before[p] + after[p] * 16 ** place) * LONGEST + place, mass: part };
  };
  const spelling = (/** @type {number} */ p) => {
    const place = shape[p] % LONGEST;
    const one = (/** @type {number} */ number) => NUMBERS[number - 1];
    const words = [
      ...Array.from({ length: place }, (_, i) => one((before[p] >>> (4 * (place - i - 1))) & 15)), word[p],
      ...Array.from({ length: (shape[p] - place) / LONGEST - place - 1 }, (_, i) => one((after[p] >>> (4 * i)) & 15)),
    ];
    return { words, place };
  };
  return judged({ sums, wordOf, view: (p) => view[p], tag, many: shape.length, read, spelling, usual }, language);
}

/** One layer, not told where. @param {Design} design @param {Language} language @returns {Generator<void, Judged>} */
function* bags(design, language) {
  const { words, at, shape, tag, mass, word } = yield* spelled(language);
  const offsets = around(design)[0];
  const numbers = new Numbers(at.length);
  const view = new Int32Array(at.length);
  const often = new Uint8Array(WORDS.length + 1);
  // How often each word is seen, four bits each: those of eight words in a number.
  const [one, two] = [0, 8].map((from) => Int32Array.from({ length: WORDS.length + 1 }, (_, word) => (word > from && word <= from + 8 ? 1 << (4 * (word - from - 1)) : 0)));
  for (let p = 0; p < at.length; p++) {
    if (p % PIECE === PIECE - 1) yield;
    const to = offsets[shape[p]];
    let [a, b, c, divisor] = [0, 0, 0, 0];
    for (let k = 0; k < to.length; k++) {
      const seen = words[at[p] + to[k]];
      often[seen] += 1;
      a += one[seen];
      b += two[seen];
      if (seen > 16) c += 1;
    }
    for (let k = 0; k < to.length && divisor !== 1; k++) for (let x = often[words[at[p] + to[k]]]; x; ) [divisor, x] = [x, divisor % x];
    for (let k = 0; k < to.length; k++) often[words[at[p] + to[k]]] = 0;
    view[p] = numbers.of(divisor > 1 ? shared(a, divisor) : a, divisor > 1 ? shared(b, divisor) : b, (c / divisor) * 32 + word[p]);
  }
  yield;
  const sums = new Float64Array(numbers.count * TAGS.length);
  const wordOf = new Uint8Array(numbers.count);
  for (let p = 0; p < at.length; p++) {
    sums[view[p] * TAGS.length + tag[p]] += mass[p];
    wordOf[view[p]] = word[p];
  }
  return judged({ sums, wordOf, view: (p) => view[p], tag, many: at.length, ...spelt(language) }, language);
}

/** Divide each of eight counts, four bits each. @param {number} counts @param {number} divisor */
function shared(counts, divisor) {
  let all = 0;
  for (let k = 0; k < 32; k += 4) all |= (((counts >>> k) & 15) / divisor) << k;
  return all;
}

/** Two layers. @param {Design} design @param {Language} language @returns {Generator<void, Judged>} */
function* deep(design, language) {
  const { words, shapes, tag } = yield* spelled(language);
  const farthest = design.layers.reduce((sum, offsets) => sum + Math.max(0, ...offsets.map(Math.abs)), 0);
  const group = yield* grouped(language, farthest > NEAR ? FARTHEST : farthest);
  const sight = around(design);
  let view = words;
  for (const [layer, offsets] of sight.entries()) {
    const tree = new Tree();
    const next = new Int32Array(words.length);
    const seen = new Int32Array(LONGEST);
    const asked = layer < sight.length - 1 ? heard(group.at, shapes, sight[layer + 1]) : group.at;
    for (let p = 0; p < asked.length; p++) {
      if (p % PIECE === PIECE - 1) yield;
      const where = asked[p];
      const to = offsets[shapes[where]];
      const own = view[where];
      let node = tree.step(0, own);
      if (design.told) {
        let alone = true;
        for (let k = 0; k < to.length && alone; k++) alone = view[where + to[k]] === own;
        if (!alone) for (let k = 0; k < to.length; k++) if (to[k]) node = tree.step(node, view[where + to[k]] * SPAN + to[k] + FARTHEST);
      } else {
        for (let k = 0; k < to.length; k++) seen[k] = view[where + to[k]];
        const left = shares(seen, to.length);
        for (let k = 0; k < left; k++) node = tree.step(node, seen[k]);
      }
      next[where] = node;
    }
    view = next;
  }
  yield;
  const numbers = new Numbers(group.at.length);
  const of = Int32Array.from(group.at, (where) => numbers.of(view[where], 0, 0));
  const sums = new Float64Array(numbers.count * TAGS.length);
  const wordOf = new Uint8Array(numbers.count);
  of.forEach((to, p) => {
    for (let t = 0; t < TAGS.length; t++) sums[to * TAGS.length + t] += group.sums[p * TAGS.length + t];
    wordOf[to] = group.word[p];
  });
  return judged({ sums, wordOf, view: (p) => of[group.which[p]], tag, many: group.which.length, ...spelt(language) }, language);
}

/** By layer and shape, the offsets at which a word sees another and itself. @param {Design} design */
const around = (design) =>
  masks(design).map((layer) => layer.map((places) => places.map((seen, i) => Int32Array.from(seen, (j) => j - i))).flatMap((places) => [...places, ...Array(LONGEST - places.length).fill(null)]));

/** How sentences are read that are spelled out. @param {Language} language */
function spelt({ long }) {
  const { words, at, shape, mass } = /** @type {Long} */ (long);
  return {
    read(/** @type {number} */ p) {
      let key = shape[p] % LONGEST;
      for (let i = at[p] - key, by = LONGEST; words[i]; i++, by *= 32) key += words[i] * by;
      return { key, mass: mass[p] };
    },
    spelling(/** @type {number} */ p) {
      const place = shape[p] % LONGEST;
      const from = at[p] - place;
      return { words: Array.from(words.subarray(from, from + (shape[p] - place) / LONGEST), (word) => word - 1), place };
    },
  };
}

/**
 * @param {{ sums: Float64Array, wordOf: Uint8Array, view: (p: number) => number, tag: Uint8Array, many: number,
 *   read: (p: number) => { key: number, mass: number }, spelling: (p: number) => { words: number[], place: number },
 *   usual?: (look: number) => number }} given `sums`: of each view
 *   the mass of each tag; `wordOf`: the word that has it; `view`: that of each of `many` places; `read`: a number for its sentence and place
 *   in it, and the mass of that sentence, if its words are the usual ones; `usual`: how much of a view has those
 * @param {Language} language
 * @returns {Judged}
 */
function judged({ sums, wordOf, view, tag, many, read, spelling, usual = () => 1 }, { sure, all }) {
  const lost = new Float64Array(wordOf.length);
  const byWord = new Float64Array(WORDS.length);
  let right = sure;
  for (let look = 0; look < wordOf.length; look++) {
    let [best, total] = [0, 0];
    for (let t = 0; t < TAGS.length; t++) {
      const mass = sums[look * TAGS.length + t];
      total += mass;
      if (mass > best) best = mass;
    }
    right += best;
    lost[look] = total - best;
    byWord[wordOf[look]] += total - best;
  }
  const worst = [...WORDS.keys()].sort((a, b) => (WORDS[a] < WORDS[b] ? -1 : 1)).reduce((best, word) => (byWord[word] > byWord[best] * MORE ? word : best));
  if (byWord[worst] < 1e-12) return { best: right / all, confusion: null };
  let [look, largest] = [-1, 0];
  for (let one = 0; one < wordOf.length; one++) {
    if (wordOf[one] !== worst || lost[one] <= largest) continue;
    const size = lost[one] * usual(one);
    if (size > largest * MORE) [look, largest] = [one, size];
  }
  const row = sums.subarray(look * TAGS.length, (look + 1) * TAGS.length);
  const two = [...TAGS.keys()].sort((a, b) => (row[b] > row[a] * MORE ? 1 : row[a] > row[b] * MORE ? -1 : a - b)).slice(0, 2);
  /** Of each place of a sentence, the mass of all its tags and of the two. @type {Map<number, number[]>} */
  const places = new Map();
  const here = /** @type {number[]} */ ([]);
  for (let p = 0; p < many; p++) {
    if (view(p) !== look) continue;
    here.push(p);
    const { key, mass } = read(p);
    const sums = places.get(key) ?? [0, 0, 0];
    places.set(key, sums);
    sums[0] += mass;
    if (two.includes(tag[p])) sums[1 + two.indexOf(tag[p])] += mass;
  }
  const found = two.map((wanted, which) => {
    let [leader, lead, most, mass] = [-1, 0, -1, 0];
    for (const p of here) {
      if (tag[p] !== wanted) continue;
      const sums = /** @type {number[]} */ (places.get(read(p).key));
      const by = 2 * sums[1 + which] - sums[0];
      if (by > 1e-9 * sums[0] && by > lead * MORE) [leader, lead] = [p, by];
      if (sums[1 + which] > mass * MORE) [most, mass] = [p, sums[1 + which]];
    }
    return spelling(leader < 0 ? most : leader);
  });
  return { best: right / all, confusion: { word: worst, lost: byWord[worst] / all, alike: found.map(({ words, place }, i) => ({ words, place, tag: two[i] })) } };
}

/**
 * All places that some places see, each once.
 * @param {Int32Array} at
 * @param {Uint8Array} shape
 * @param {Int32Array[]} offsets
 */
function heard(at, shape, offsets) {
  const seen = new Uint8Array(shape.length);
  let count = 0;
  for (let p = 0; p < at.length; p++) {
    for (const offset of offsets[shape[at[p]]]) if (!seen[at[p] + offset]) count += seen[at[p] + offset] = 1;
  }
  const all = new Int32Array(count);
  for (let i = 0, k = 0; k < count; i++) if (seen[i]) all[k++] = i;
  return all;
}

/**
 * Sort what is seen, and keep one of each share: of three, three and six, one, one and two.
 * @param {Int32Array} seen
 * @param {number} count
 * @returns {number} how many are kept
 */
export function shares(seen, count) {
  for (let k = 1; k < count; k++) {
    const one = seen[k];
    let j = k;
    for (; j && seen[j - 1] > one; j--) seen[j] = seen[j - 1];
    seen[j] = one;
  }
  let divisor = 0;
  for (let from = 0; from < count; ) {
    let end = from + 1;
    while (end < count && seen[end] === seen[from]) end++;
    for (let a = end - from; a; ) [divisor, a] = [a, divisor % a];
    from = end;
  }
  if (divisor < 2) return count;
  for (let k = 0; k * divisor < count; k++) seen[k] = seen[k * divisor];
  return count / divisor;
}
