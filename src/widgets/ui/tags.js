// What tags are called, and the kinds of them that one is shown: nouns, verbs, small words, and the rest. tags.css gives them their looks.
export const NAMES = /** @type {Record<string, string>} */ ({
  NOUN: "noun", PROPN: "name", VERB: "verb", AUX: "auxiliary", PRON: "pronoun", DET: "determiner", ADP: "preposition", PART: "particle",
  CCONJ: "conjunction", SCONJ: "subjunction", ADJ: "adjective", ADV: "adverb", NUM: "number", PUNCT: "mark", INTJ: "interjection",
  SYM: "symbol", X: "other",
});
export const SMALL = ["AUX", "PRON", "DET", "ADP", "PART", "CCONJ", "SCONJ"];
/** @param {string} tag */
export const kind = (tag) => (SMALL.includes(tag) ? "small word" : NAMES[tag]);
