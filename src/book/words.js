// Words as the search compares them: one form for *mask* and *masking*, for *FlashAttention* and *flash attention*.

/** What a whole question has besides what it asks for. */
const PASSED_OVER = new Set("a actually am an and are as at be between but by called can cannot could define did didn difference different differ do does doesn don else explain for from happen happens has have how i if in is isn it its just know known knows matter matters may me might much must my need needed needs of on only or over really should so something t than that the then there this to use used using versus vs was we were what when where which who why will with work works would you".split(" "));
/** Letters and digits, with hyphens and the like between them. */
const RUN = /[\p{L}\p{N}]+(?:[-_/‑–][\p{L}\p{N}]+)*/gu;
const HYPHEN = /[-_/‑–|]/u;
/** Where a name in camel case has its seams: Flash|Attention, but not Ro|PE. (Phones of 2022 know no lookbehind.) */
const SEAM = /(\p{Ll}{3})(?=\p{Lu}\p{Ll}{2})/gu;
/** Most words have none. */
const SIMPLE = /^[A-Z]?[a-z0-9]*$/;
/** @param {string} run */
const split = (run) => (SIMPLE.test(run) ? [run] : run.replace(SEAM, "$1|").split(HYPHEN));
/** Nothing in it is written in more than one way. */
const PLAIN = /^[\x20-\x7e‘’“”…–−·×]*$/;
/** @type {Map<string, string>} */
const KNOWN = new Map();

/** One form for *mask*, *masks* and *masking*, and for British and American spelling. @param {string} word */
export function stem(word) {
  const known = KNOWN.get(word);
  if (known !== undefined) return known;
  const made = cut(word.toLowerCase());
  KNOWN.set(word, made);
  return made;
}

/** @param {string} low */
function cut(low) {
  if (low.length < 4) return low;
  low = low.replace(/iz(?=e|ing|ation)/, "is").replace(/our(?=s?$)/, "or");
  if (low.length < 5) return low.replace(/([^aisu])s$/, "$1");
  const short = low
    .replace(/(.{5})al$/, "$1")
    .replace(/(?:ies|ied|y)$/, "i")
    .replace(/(.{4}[ae]n)(?:ts?|ces?)$/, "$1")
    .replace(/(?:ions?|ings?|edly|ed|ly|es|e|([^aisu])s)$/, "$1")
    .replace(/(.{4})at$/, "$1")
    .replace(/([bdgmnprt])\1$/, "$1");
  return short.length > 2 ? short : low;
}

/** What the letters from α to ω, small or large, are called, as formulas are found by them. */
const GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(" ");

/** What signs are called. @type {Record<string, string>} */
const SIGNS = { "√": "sqrt", "∞": "infinity", "∑": "sum", "∂": "derivative", "∇": "gradient", "⊤": "transpose" };

/** n^2 is asked for, n² is read. @param {string} text */
const plain = (text) => (PLAIN.test(text) ? text.replace(/\^(?=[a-z0-9])/gi, "") : text.replace(/[√∞∑∂∇⊤]/g, (sign) => ` ${SIGNS[sign]} `).normalize("NFKD").replace(/\p{M}/gu, "").replace(/[α-ω]/gi, (letter) => GREEK[letter.toLowerCase().charCodeAt(0) - 945]));

/**
 * The parts of a text's words, in order, as they are written.
 * @param {string} text
 */
export const parts = (text) => (plain(text).match(RUN) ?? []).flatMap(split);

/** A question's words, and those of them that not every question has. @param {string} text */
function sifted(text) {
  const all = parts(text).map((word) => word.toLowerCase());
  return { all, some: all.filter((word) => !PASSED_OVER.has(word)) };
}

/** What counts of a question: its words but for those that every question has. @param {string} text */
export function telling(text) {
  const { all, some } = sifted(text);
  return some.length ? some : all;
}

/** Whether every question may have a word. @param {string} word */
export const passedOver = (word) => PASSED_OVER.has(word);

/** Whether a question says already what it is about. @param {string} text */
export const tells = (text) => sifted(text).some.length > 0;

/**
 * All under which a text can be found: its words, and those of several parts in one piece, too.
 * @param {string} text
 */
export function findable(text) {
  /** @type {string[]} */
  const single = [];
  /** @type {string[]} */
  const whole = [];
  for (const [run] of plain(text).matchAll(RUN)) {
    const pieces = split(run).map((piece) => piece.toLowerCase());
    for (const piece of pieces) if (!PASSED_OVER.has(piece)) single.push(piece);
    if (pieces.length > 1 && (pieces.length < 4 || run.includes("_"))) whole.push(pieces.join(""));
  }
  return { single, whole };
}

/** @typedef {{ stem: string, from: number, until: number }} Word */
/** What was read once: an answer looks through its texts for each word. @type {Map<string, { words: Word[], whole: Word[] }>} */
const READ = new Map();

/** A text's words in their places, and those of several parts in one piece. @param {string} text */
function stand(text) {
  const known = READ.get(text);
  if (known) return known;
  /** @type {{ words: Word[], whole: Word[] }} */
  const { words, whole } = { words: [], whole: [] };
  for (const run of text.matchAll(RUN)) {
    const pieces = split(run[0]);
    const until = run.index + run[0].length;
    if (text[run.index - 1] === "√") {
      // A root is one sign with what stands under it.
      const under = { from: run.index - 1, until };
      words.push({ stem: "sqrt", ...under }, ...pieces.map((piece) => ({ stem: stem(plain(piece)), ...under })));
      continue;
    }
    if (pieces.length > 1) whole.push({ stem: stem(plain(pieces.join(""))), from: run.index, until });
    let at = 0;
    for (const piece of pieces) {
      at = run[0].indexOf(piece, at);
      words.push({ stem: stem(plain(piece)), from: run.index + at, until: run.index + at + piece.length });
      at += piece.length;
    }
  }
  READ.set(text, { words, whole });
  return { words, whole };
}

/**
 * Where in a text, as it is written, words stand that have one of these stems, or several that make one of these phrases.
 * @param {string} text
 * @param {Set<string>} stems
 * @param {string[][]} phrases stems in their order
 * @returns {[number, number][]}
 */
export function places(text, stems, phrases = []) {
  const { words, whole } = stand(text);
  const found = whole.filter(({ stem }) => stems.has(stem)).map(({ from, until }) => /** @type {[number, number]} */ ([from, until]));
  words.forEach(({ stem, from, until }, at) => {
    if (stems.has(stem)) found.push([from, until]);
    for (const phrase of phrases) {
      if (phrase.every((one, next) => words[at + next]?.stem === one)) found.push([from, words[at + phrase.length - 1].until]);
    }
  });
  // What stands inside a longer place is part of it.
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return found.filter(([, until], at) => found.slice(0, at).every((before) => before[1] < until));
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
