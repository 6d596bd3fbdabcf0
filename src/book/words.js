// Words as the search compares them: one form for *mask* and *masking*, for *FlashAttention* and *flash attention*.

const PASSED_OVER = new Set("a an and are as at be by can do does for from has have how i in is it its me my of on or so that the there this to was we what when where which who why will with you".split(" "));
/** Letters and digits, with hyphens and the like between them. */
const RUN = /[\p{L}\p{N}]+(?:[-_/‑–][\p{L}\p{N}]+)*/gu;
/** Where a name in camel case has its seams: Flash|Attention, but not Ro|PE. */
const SEAM = /(?<=\p{Ll}{3})(?=\p{Lu}\p{Ll}{2})|[-_/‑–]/u;

/** @typedef {{ word: string, stem: string, from: number, until: number }} Word */

/** One form for *mask*, *masks* and *masking*, and for British and American spelling. @param {string} word */
export function stem(word) {
  let low = word.toLowerCase();
  if (low.length < 4) return low;
  low = low.replace(/iz(?=e|ing|ation)/, "is").replace(/our(?=s?$)/, "or");
  if (low.length < 5) return low;
  const short = low
    .replace(/(?:ies|ied|y)$/, "i")
    .replace(/(?:ions?|ings?|edly|ed|ly|es|e|(?<!s)s)$/, "")
    .replace(/(?<=.{4})at$/, "")
    .replace(/([bdgmnprt])\1$/, "$1");
  return short.length > 2 ? short : low;
}

/** @param {string} text */
const plain = (text) => text.replaceAll("√", " sqrt ").replaceAll("∞", " infinity ").normalize("NFKD").replace(/\p{M}/gu, "");

/**
 * The parts of a text's words, in order, as they are written.
 * @param {string} text
 */
export const parts = (text) => (plain(text).match(RUN) ?? []).flatMap((run) => run.split(SEAM));

/** What counts of a question: its words but for those that every sentence has. @param {string} text */
export function telling(text) {
  const all = parts(text).map((word) => word.toLowerCase());
  const some = all.filter((word) => !PASSED_OVER.has(word));
  return some.length ? some : all;
}

/**
 * All under which a text can be found: its words, and those of several parts in one piece, too.
 * @param {string} text
 */
export function* findable(text) {
  for (const [run] of plain(text).matchAll(RUN)) {
    const pieces = run.split(SEAM);
    for (const piece of pieces) {
      const low = piece.toLowerCase();
      if (!PASSED_OVER.has(low)) yield low;
    }
    if (pieces.length > 1 && pieces.length < 4) yield pieces.join("").toLowerCase();
  }
}

/** Where in a text, as it is written, words stand that have one of these stems. @param {string} text @param {Set<string>} stems */
export function places(text, stems) {
  const found = [];
  for (const run of text.matchAll(RUN)) {
    let at = run.index;
    const pieces = run[0].split(/(?<=\p{Ll}{3})(?=\p{Lu}\p{Ll}{2})|(?=[-_/‑–])/u);
    if (pieces.length > 1 && stems.has(stem(parts(run[0]).join("")))) {
      found.push([at, at + run[0].length]);
      continue;
    }
    for (const piece of pieces) {
      const skipped = /^[-_/‑–]/.test(piece) ? 1 : 0;
      if (stems.has(stem(plain(piece.slice(skipped))))) found.push([at + skipped, at + piece.length]);
      at += piece.length;
    }
  }
  return found;
}

/**
 * Whether one slip separates two words: a letter wrong, missing, added, or two in the wrong order.
 * @param {string} a
 * @param {string} b
 */
export function slip(a, b) {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const rest = (/** @type {string} */ word, /** @type {number} */ from) => word.slice(from);
  return (
    rest(a, at + 1) === rest(b, at + 1) ||
    rest(a, at) === rest(b, at + 1) ||
    rest(a, at + 1) === rest(b, at) ||
    (a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, at + 2) === rest(b, at + 2))
  );
}

/** How alike two words look: the share of pairs of letters that they have in common. @param {string} a @param {string} b */
export function likeness(a, b) {
  const pairs = (/** @type {string} */ word) => [...`^${word}$`].slice(1).map((letter, i) => `^${word}$`[i] + letter);
  const of = pairs(b);
  const all = of.length + a.length + 1;
  const common = pairs(a).filter((pair) => {
    const at = of.indexOf(pair);
    if (at >= 0) of.splice(at, 1);
    return at >= 0;
  });
  return (2 * common.length) / all;
}
