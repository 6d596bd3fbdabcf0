// From text to tokens to features: the same rules as src/attnbook/tagging/words.py, which explains them.
// A "character" is a code point, as in Python; never half of a surrogate pair.

const ENDINGS = ["n't", "'s", "'m", "'re", "'ve", "'ll", "'d"];
const ABBREVIATIONS = new Set(
  `mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/),
);
const ADDRESS = /^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u;
const INITIALS = /^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/;

const isSpace = (/** @type {string} */ c) => /^[\p{Z}\p{Cc}]$/u.test(c);
const isWord = (/** @type {string} */ c) => /^[\p{L}\p{M}\p{N}_]$/u.test(c);
const isDigit = (/** @type {string} */ c) => /^\p{N}$/u.test(c);
const joins = (/** @type {string} */ c) => /^[\p{M}\p{Cf}\p{Sk}]$/u.test(c) && /** @type {number} */ (c.codePointAt(0)) > 127;
const plain = (/** @type {string} */ s) => s.replaceAll("’", "'").toLowerCase();

/**
 * Cut a text into tokens.
 * @param {string} text
 * @returns {string[]}
 */
export function split(text) {
  const chars = Array.from(text, (c) => (/^[\ud800-\udfff]$/.test(c) ? "\ufffd" : c));
  /** @type {string[]} */
  const out = [];
  let chunk = "";
  for (const c of [...chars, " "]) {
    if (!isSpace(c)) chunk += c;
    else if (chunk) {
      out.push(...pieces(chunk));
      chunk = "";
    }
  }
  return out;
}

/**
 * Describe a token: word, prefixes, suffixes, shape.
 * @param {string} token
 * @returns {string[]}
 */
export function features(token) {
  const low = Array.from(token.toLowerCase());
  let marks = "";
  let last = "";
  let run = 0;
  for (const c of token) {
    const mark = shape(c);
    run = mark === last ? run + 1 : 1;
    last = mark;
    if (run <= 2) marks += mark;
  }
  return [
    `w=${low.join("")}`,
    ...[1, 2, 3].map((i) => `p${i}=${low.slice(0, i).join("")}`),
    ...[1, 2, 3, 4].map((i) => `s${i}=${low.slice(-i).join("")}`),
    `shape=${Array.from(marks).slice(0, 8).join("")}`,
  ];
}

/**
 * Hash a feature to a row of the table (FNV-1a, 32 bits, over UTF-8).
 * @param {string} feature
 * @param {number} seed
 * @param {number} nBuckets
 */
export function bucket(feature, seed, nBuckets) {
  let state = (0x811c9dc5 ^ seed) >>> 0;
  for (const byte of new TextEncoder().encode(feature)) state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  return state % nBuckets;
}

/** @param {string} c */
function shape(c) {
  if (/^[\p{Lu}\p{Lt}]$/u.test(c)) return "X";
  if (/^\p{L}$/u.test(c)) return "x";
  return isDigit(c) ? "d" : c;
}

/** @param {string} chunk */
function pieces(chunk) {
  const [before, ...rest] = peel(chunk);
  let [core, after] = rest;
  const whole = core + after;
  if (ABBREVIATIONS.has(whole.toLowerCase()) || (INITIALS.test(whole) && whole.slice(0, -1).includes("."))) {
    [core, after] = [whole, ""];
  } else if (after.startsWith(".") && ABBREVIATIONS.has(`${core}.`.toLowerCase())) {
    [core, after] = [`${core}.`, after.slice(1)];
  }
  return [...runs(before), ...(ADDRESS.test(core) ? [core] : inside(core)), ...runs(after)];
}

/** @param {string} chunk */
function peel(chunk) {
  if (ENDINGS.includes(plain(chunk))) return ["", chunk, ""];
  const chars = Array.from(chunk);
  const first = chars.findIndex(isWord);
  if (first < 0) return [chunk, "", ""];
  const end = chars.findLastIndex(isWord) + 1;
  return [chars.slice(0, first), chars.slice(first, end), chars.slice(end)].map((part) => part.join(""));
}

/** @param {string} marks */
function runs(marks) {
  /** @type {string[]} */
  const out = [];
  for (const c of marks) {
    const last = out.length ? /** @type {string} */ (Array.from(out[out.length - 1]).at(-1)) : "";
    if (last && (c === last || joins(c) || last === "\u200d")) out[out.length - 1] += c;
    else out.push(c);
  }
  return out;
}

/** @param {string} core */
function inside(core) {
  if (!core) return [];
  const chars = Array.from(core);
  /** @type {string[]} */
  const parts = [];
  let start = 0;
  for (let i = 1; i < chars.length - 1; i++) {
    if (!isWord(chars[i]) && !holds(chars, i)) {
      parts.push(chars.slice(start, i).join(""), chars[i]);
      start = i + 1;
    }
  }
  parts.push(chars.slice(start).join(""));
  /** @type {string[]} */
  const out = [];
  for (const part of parts.filter(Boolean)) {
    const cps = Array.from(part);
    const last = out.length ? Array.from(out[out.length - 1]).at(-1) : "";
    if (cps.length === 1 && !isWord(part) && part === last) out[out.length - 1] += part;
    else out.push(...contraction(part));
  }
  return out;
}

/**
 * @param {string[]} chars
 * @param {number} i
 */
function holds(chars, i) {
  const [left, mark, right] = [chars[i - 1], chars[i], chars[i + 1]];
  if (!isWord(left) || !isWord(right)) return false;
  if (".,:".includes(mark)) return (isDigit(left) && isDigit(right)) || mark === ".";
  return "'’&".includes(mark);
}

/** @param {string} part */
function contraction(part) {
  const chars = Array.from(part);
  const low = Array.from(part.toLowerCase().replaceAll("’", "'"));
  if (low.length !== chars.length) return [part];
  const word = low.join("");
  if (word === "cannot") return [part.slice(0, 3), part.slice(3)];
  for (const ending of ENDINGS) {
    if (word.endsWith(ending) && low.length > ending.length) {
      const at = chars.length - ending.length;
      return [chars.slice(0, at).join(""), chars.slice(at).join("")];
    }
  }
  return [part];
}
