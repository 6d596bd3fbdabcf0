// How good any model can be that sees sentences through a design: exactly, over all sentences of the grammar, in pieces that leave a
// page its frames. The package's attnbook.tagging.views says the same, and the tests compare them.
import { FARTHEST, masks } from "./design.js";
import { everySentence, LEXICON, LONGEST, TAGS, WORDS } from "./grammar.js";

/** @typedef {import("./design.js").Design} Design */

const SPAN = 2 * FARTHEST + 1;
/** Words of all sentences, and what stands between them: so many at most. */
const ROOM = 1 << 20;
/** Farther than so nearly all places look different. */
const NEAR = 3;
/** Places numbered before a generator lets others have a turn. */
const PIECE = 4000;

/**
 * Words that no tag prefers to one another, as *a* and *the*, have one number: which of them stands at a place that one knows tells
 * nothing of any tag. (Among words in a bag it can: it may betray that two of them are one.)
 */
export const KINDS = (() => {
  const all = WORDS.map((word) => {
    const often = Object.values(LEXICON).map((words) => words.find(([one]) => one === word)?.[1] ?? 0);
    const total = often.reduce((a, b) => a + b);
    return often.map((share) => (share / total).toFixed(9)).join();
  });
  return all.map((one) => all.indexOf(one));
})();

/**
 * Every sentence, its words in a row with room on both sides: where there is no word stands 0.
 * @typedef {{ words: Int32Array, kinds: Int32Array, shape: Uint8Array, at: Int32Array, tag: Uint8Array, mass: Float64Array, sure: number,
 *   all: number, lengths: number[], groups: Map<string, Group> }} Language `shape`: of each word, the length of its sentence and its
 *   place in it; `at`: where words with several tags stand, `tag` and `mass` theirs; `sure`: the mass of all others; `groups`: see `grouped`
 * @typedef {{ at: Int32Array, sums: Float64Array }} Group places of which no two look alike, and the mass of each tag there
 */

/**
 * Write down all sentences of the grammar.
 * @returns {Generator<void, Language>}
 */
export function* language() {
  const tags = WORDS.map((word) => new Set(Object.entries(LEXICON).filter(([, words]) => words.some(([one]) => one === word)).map(([symbol]) => symbol.slice(0, 4))));
  const [words, kinds] = [0, 1].map(() => new Int32Array(ROOM));
  const shape = new Uint8Array(ROOM);
  const [at, tag, mass] = [new Int32Array(ROOM), new Uint8Array(ROOM), new Float64Array(ROOM)];
  const lengths = Array(LONGEST + 1).fill(0);
  let [end, count, sure, all, passed] = [FARTHEST, 0, 0, 0, 0];
  for (const sentence of everySentence()) {
    const n = sentence.words.length;
    const p = sentence.probability;
    lengths[n] += p;
    all += n * p;
    for (let i = 0; i < n; i++, end++) {
      const word = sentence.words[i];
      [words[end], kinds[end], shape[end]] = [word + 1, KINDS[word] + 1, n * LONGEST + i];
      if (tags[word].size === 1) sure += p;
      else [at[count], tag[count], mass[count++]] = [end, sentence.tags[i], p];
    }
    end += FARTHEST;
    if (++passed % 500 === 0) yield;
  }
  return { words: words.subarray(0, end), kinds: kinds.subarray(0, end), shape: shape.subarray(0, end), at: at.subarray(0, count), tag, mass, sure, all, lengths, groups: new Map() };
}

/**
 * Take together what looks alike to all who see no farther than so: of its places one stays. What was taken together once stays so.
 * @param {Language} language
 * @param {boolean} told
 * @param {number} reach
 * @returns {Generator<void, Group>}
 */
function* grouped({ words, kinds, shape, at, tag, mass, groups }, told, reach) {
  const key = `${told} ${reach}`;
  const known = groups.get(key);
  if (known) return known;
  const text = told ? kinds : words;
  const tree = new Tree();
  const which = new Int32Array(at.length);
  const numbers = new Map();
  const kept = [];
  for (let p = 0; p < at.length; p++) {
    if (p % PIECE === PIECE - 1) yield;
    const where = at[p];
    const place = shape[where] % LONGEST;
    let node = 0;
    // Whole sentences share their beginnings: read from there, the tree is small.
    const from = reach === FARTHEST ? where - place : where - reach;
    for (let i = from; reach === FARTHEST ? text[i] : i <= where + reach; i++) node = tree.step(node, text[i]);
    if (reach === FARTHEST) node = tree.step(node, -1 - place);
    let number = numbers.get(node);
    if (number === undefined) {
      numbers.set(node, (number = kept.length));
      kept.push(where);
    }
    which[p] = number;
  }
  yield;
  const sums = new Float64Array(kept.length * TAGS.length);
  for (let p = 0; p < at.length; p++) sums[which[p] * TAGS.length + tag[p]] += mass[p];
  const group = { at: Int32Array.from(kept), sums };
  groups.set(key, group);
  return group;
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
 * The best accuracy of any model that sees sentences through a design, 0 to 1.
 *
 * Told, a word knows of itself and of each word that it sees at which offset; untold, their shares, itself among them: a softmax
 * gives two equal words and one of each twice the same mean. In a second layer, the same of what each saw in the first.
 * @param {Design} design
 * @param {Language} language
 * @returns {Generator<void, number>}
 */
export function* ceiling(design, language) {
  const { words, kinds, shape, sure, all } = language;
  const farthest = design.layers.reduce((sum, offsets) => sum + Math.max(0, ...offsets.map(Math.abs)), 0);
  const { at, sums } = yield* grouped(language, design.told, design.first || farthest > NEAR ? FARTHEST : farthest);
  const sight = masks(design).map((layer) => layer.map((places) => places.map((seen, i) => Int32Array.from(seen, (j) => j - i))).flatMap((places) => [...places, ...Array(LONGEST - places.length).fill(null)]));
  let view = design.told ? kinds : words;
  for (const [layer, offsets] of sight.entries()) {
    const tree = new Tree();
    const next = new Int32Array(words.length);
    const seen = new Int32Array(LONGEST);
    const asked = layer < sight.length - 1 ? heard(at, shape, sight[layer + 1]) : at;
    for (let p = 0; p < asked.length; p++) {
      if (p % PIECE === PIECE - 1) yield;
      const where = asked[p];
      const to = offsets[shape[where]];
      let node = tree.step(0, view[where]);
      if (design.told) {
        for (let k = 0; k < to.length; k++) if (to[k]) node = tree.step(node, view[where + to[k]] * SPAN + to[k] + FARTHEST);
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
  let top = 0;
  for (let p = 0; p < at.length; p++) if (view[at[p]] > top) top = view[at[p]];
  const leaves = new Int32Array(top + 1).fill(-1);
  let count = 0;
  for (let p = 0; p < at.length; p++) if (leaves[view[at[p]]] < 0) leaves[view[at[p]]] = count++;
  const alike = new Float64Array(count * TAGS.length);
  for (let p = 0; p < at.length; p++) {
    const [from, to] = [p * TAGS.length, leaves[view[at[p]]] * TAGS.length];
    for (let t = 0; t < TAGS.length; t++) alike[to + t] += sums[from + t];
  }
  let right = sure;
  for (let from = 0; from < alike.length; from += TAGS.length) {
    let best = 0;
    for (let t = 0; t < TAGS.length; t++) if (alike[from + t] > best) best = alike[from + t];
    right += best;
  }
  return right / all;
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
