// The toy grammar of the package (attnbook.tagging.grammar): its rules, sentences drawn from them, and every sentence.

/** Symbol -> [expansion, per cent]. A symbol that expands to words is a tag; PRONs and PRONo are both tagged PRON. */
export const RULES = /** @type {Record<string, [string, number][]>} */ ({
  S: [["Subj VP", 65], ["Subj AUX VP", 35]],
  Subj: [["PRONs", 60], ["DET NOUN", 30], ["DET ADJ NOUN", 10]],
  VP: [["VERB", 25], ["VERB Obj", 75]],
  Obj: [["PRONo", 25], ["DET NOUN", 55], ["DET ADJ NOUN", 20]],
});
export const LEXICON = /** @type {Record<string, [string, number][]>} */ ({
  PRONs: [["I", 40], ["you", 25], ["they", 25], ["that", 10]],
  PRONo: [["me", 30], ["you", 25], ["them", 25], ["that", 20]],
  DET: [["a", 35], ["the", 45], ["that", 20]],
  AUX: [["can", 60], ["will", 40]],
  ADJ: [["left", 50], ["old", 50]],
  NOUN: [["saw", 15], ["can", 20], ["duck", 15], ["fish", 20], ["watch", 15], ["dog", 15]],
  VERB: [["saw", 30], ["can", 10], ["duck", 15], ["fish", 15], ["watch", 15], ["left", 15]],
});
export const TAGS = ["ADJ", "AUX", "DET", "NOUN", "PRON", "VERB"];
/** In the order in which the lexicon names them. */
export const WORDS = [...new Set(Object.values(LEXICON).flatMap((words) => words.map(([word]) => word)))];
/** The longest sentence: "the old man can watch the old dog". */
export const LONGEST = 8;

/** @typedef {{ words: number[], tags: number[] }} Tagged numbers in WORDS and in TAGS */

/** What a symbol is called when it is a tag. @param {string} symbol */
const tagOf = (symbol) => TAGS.indexOf(symbol.replace(/[so]$/, ""));
/** For each symbol that is a tag: number of the tag, number of the word, per cent. @type {Record<string, [number, number, number][]>} */
const lexicon = Object.fromEntries(
  Object.entries(LEXICON).map(([symbol, words]) => [symbol, words.map(([word, share]) => [tagOf(symbol), WORDS.indexOf(word), share])]),
);
const rules = Object.fromEntries(
  Object.entries(RULES).map(([symbol, ways]) => [symbol, ways.map(([expansion, share]) => ({ symbols: expansion.split(" "), share }))]),
);

/**
 * Draw a sentence: each rule and each word takes one number.
 * @param {() => number} uniform the next number between 0 and 1
 * @returns {Tagged}
 */
export function draw(uniform) {
  const sentence = /** @type {Tagged} */ ({ words: [], tags: [] });
  const write = (/** @type {string} */ symbol) => {
    let left = 100 * uniform();
    const words = lexicon[symbol];
    if (words) {
      const [tag, word] = words.find(([, , share]) => (left -= share) < 0) ?? words[words.length - 1];
      sentence.words.push(word);
      sentence.tags.push(tag);
    } else {
      const ways = rules[symbol];
      (ways.find(({ share }) => (left -= share) < 0) ?? ways[ways.length - 1]).symbols.forEach(write);
    }
  };
  write("S");
  return sentence;
}

/**
 * Every tagged sentence with its probability, those of one shape after another.
 * @param {(words: [number, number, number][]) => [number, number, number][]} [choose] what is written for a symbol: tag,
 *   word and per cent of each, all of them unless given
 * @returns {Generator<Tagged & { probability: number }>}
 */
export function* everySentence(choose = (words) => words) {
  for (const { symbols, probability } of everyShape(["S"], 1)) {
    const entries = symbols.map((symbol) => choose(lexicon[symbol]));
    const tags = entries.map(([[tag]]) => tag);
    // An odometer: the last word turns fastest.
    const at = entries.map(() => 0);
    for (let place = 0; place >= 0; ) {
      const words = entries.map((words, i) => words[at[i]]);
      yield { words: words.map(([, word]) => word), tags, probability: words.reduce((p, [, , share]) => (p * share) / 100, probability) };
      for (place = at.length - 1; place >= 0 && ++at[place] === entries[place].length; place--) at[place] = 0;
    }
  }
}

/**
 * @param {string[]} symbols
 * @param {number} probability
 * @returns {Generator<{ symbols: string[], probability: number }>}
 */
function* everyShape(symbols, probability) {
  const at = symbols.findIndex((symbol) => rules[symbol]);
  if (at < 0) yield { symbols, probability };
  else for (const way of rules[symbols[at]]) yield* everyShape([...symbols.slice(0, at), ...way.symbols, ...symbols.slice(at + 1)], (probability * way.share) / 100);
}

/**
 * Whether words are the beginning of a sentence of the grammar, behind which stands its end.
 * @param {string[]} words
 */
export function begins(words) {
  const fits = (/** @type {string} */ symbol, /** @type {string} */ word) => (symbol ? LEXICON[symbol].some(([known]) => known === word) : word === "<end>");
  return [...everyShape(["S"], 1)].some(({ symbols }) => words.length <= symbols.length + 1 && words.every((word, i) => fits(symbols[i], word)));
}

/**
 * How probable each tag is for each word of a sentence, if the sentence is one of the grammar.
 * @param {number[]} words
 * @returns {number[][] | null} null if it is not
 */
export function posterior(words) {
  const mass = words.map(() => TAGS.map(() => 0));
  let total = 0;
  for (const { symbols, probability } of everyShape(["S"], 1)) {
    if (symbols.length !== words.length) continue;
    const p = symbols.reduce((all, symbol, i) => all * (lexicon[symbol].find(([, word]) => word === words[i])?.[2] ?? 0), probability);
    total += p;
    symbols.forEach((symbol, i) => (mass[i][lexicon[symbol][0][0]] += p));
  }
  return total ? mass.map((row) => row.map((p) => p / total)) : null;
}
