// The code that the book shows, line by line: found as it is written, or else where most of it stands.
import { passedOver } from "./words.js";

/**
 * Where a line of code stands, and how much of what was asked for, and where in it.
 * @typedef {{ at: string, text: string, share: number, hits: [number, number][] }} Line
 * @typedef {{ at: string, text: string, joined: string }} Shown `joined`: its pieces, with a space around each
 * @typedef {{ is: string, from: number, until: number }} Piece
 * @typedef {{ line: Shown, share: number, hits: [number, number][] }} Scored
 */

const PIECE = /[\p{L}_][\p{L}\p{N}_]*|\p{N}+(?:\.\p{N}+)?(?:e-?\p{N}+)?|[^\s\p{L}\p{N}_]/gu;
const NAME = /^[\p{L}_]/u;
/** Code, not prose: a call, an assignment, brackets, a name in several pieces, something's something. */
const LOOKS = /^\s*(?:from \w+ import|import \w)|[\p{L}\d_]\(|[\p{L}\d_)\]]\s*[=@[]|\p{L}[_.]\p{L}|\)\.|==|[{}]/u;
/** … and more than one name. */
const MORE = /[^\p{L}\d_.\s]/u;
/** What any line may have. */
const OFTEN = new Set("as class def else f false float for from if import in int is lambda len math nn none not np print range return self torch true".split(" "));
const MODULES = new Set("f nn np torch functional".split(" "));
/** Of what was asked for, what a line has to have at least. */
const LEAST = 0.6;
/** A name of fewer letters tells little: so much of what a longer one does. */
const SHORTEST = 3;
const SLIGHT = 0.3;

/** Small, with one kind of quotes. @param {string} text */
const plain = (text) => text.toLowerCase().replace(/['“”‘’`]/g, '"');

/** A line's pieces. @param {string} text @returns {Piece[]} */
const cut = (text) => [...plain(text).matchAll(PIECE)].map((piece) => ({ is: piece[0], from: piece.index, until: piece.index + piece[0].length }));

/** Whether somebody asks for code. @param {string} question */
export const coded = (question) => LOOKS.test(question);

/** Whether it is more than a name, with what it is taken from. @param {string} question */
export const composed = (question) => coded(question) && MORE.test(question);

/** Words that stand free, as those of a sentence do. */
const WORDS = /(?:^|\s)(\p{L}+)(?=[\s?!,;:]|$)/gu;
/** Two of them. */
const PAIR = /(?:^|\s)(\p{L}+) (\p{L}+)(?=[\s?!,;:]|$)/gu;

/** Whether it is a sentence, that may have code in it. @param {string} question */
export const sentence = (question) =>
  [...question.matchAll(WORDS)].some(([, word]) => !OFTEN.has(word.toLowerCase()) && passedOver(word.toLowerCase())) ||
  [...question.matchAll(PAIR)].some(([, one, other]) => ![one, other].some((word) => OFTEN.has(word.toLowerCase())));

/** @param {string} is */
const name = (is) => NAME.test(is) && !OFTEN.has(is) && !passedOver(is);

/** The names of a question that tell something alone. @param {string} question */
export const telltale = (question) => [...new Set(cut(question).flatMap(({ is }) => (name(is) && is.length >= SHORTEST ? [is] : [])))];

export class Code {
  /** @param {[string, string][]} given places, and their lines */
  constructor(given) {
    /** In how many lines a name stands. @type {Map<string, number>} */
    this.names = new Map();
    /** @type {Shown[]} */
    this.lines = given.flatMap(([at, text]) => text.split("\n").map((line) => {
      const pieces = plain(line).match(PIECE) ?? [];
      for (const name of new Set(pieces)) if (NAME.test(name)) this.names.set(name, (this.names.get(name) ?? 0) + 1);
      return { at, text: line, joined: ` ${pieces.join(" ")} ` };
    }));
  }

  /** @param {string} name */
  has(name) {
    return this.names.has(name);
  }

  /**
   * The lines that have what was asked for, of each section the best, and whether they have most of it. They come in no order.
   * @param {string} question
   * @returns {{ lines: Line[], sure: boolean }}
   */
  find(question) {
    const exact = this.#exact(question);
    if (exact.length) return { lines: best(exact), sure: true };
    if (!sentence(question)) return this.#most(cut(question));
    const inside = question.split(/\s+/).filter(coded).map((piece) => this.#exact(piece.replace(/[?!,;:]+$/, ""))).find((lines) => lines.length);
    return { lines: best(inside ?? []), sure: false };
  }

  /** Lines that have it as it is; the last name may be unfinished. @param {string} question @returns {Scored[]} */
  #exact(question) {
    const asked = cut(question.replace(/(?:…|\.\.\.)\s*$/, ""));
    if (!asked.length) return [];
    const whole = ` ${asked.map(({ is }) => is).join(" ")}`;
    return this.lines.flatMap((line) => {
      const from = line.joined.indexOf(whole);
      if (from < 0) return [];
      const first = line.joined.slice(0, from + 1).split(" ").length - 2;
      // What is defined comes before what is used.
      const share = /^ (?:def|class) /.test(line.joined) ? 2 : 1;
      const pieces = cut(line.text);
      return [{ line, share, hits: [[pieces[first].from, pieces[first + asked.length - 1].until]] }];
    });
  }

  /** Lines with most of what was asked for, or else with its rarest call. @param {Piece[]} asked */
  #most(asked) {
    const names = [...new Set(asked.map(({ is }) => is))].filter(name);
    const rare = (/** @type {string} */ name) => Math.log(1 + this.lines.length / (this.names.get(name) ?? 1)) * (name.length < SHORTEST ? SLIGHT : 1);
    const all = names.reduce((sum, name) => sum + rare(name), 0);
    // A method, and a call, stand as such.
    const forms = new Map(asked.map(({ is }, at) => [is, `${asked[at - 1]?.is === "." && !MODULES.has(asked[at - 2]?.is) ? " ." : ""} ${is} ${asked[at + 1]?.is === "(" ? "( " : ""}`]));
    const scored = this.lines.flatMap((line) => {
      const has = names.filter((name) => line.joined.includes(forms.get(name) ?? ""));
      const share = has.reduce((sum, name) => sum + rare(name), 0) / all;
      return has.length ? [{ line, share, hits: /** @type {[number, number][]} */ ([]), has }] : [];
    });
    const marked = (/** @type {typeof scored} */ some) => best(some.map((one) => ({ ...one, hits: cut(one.line.text).flatMap(({ is, from, until }) => (one.has.includes(is) ? [/** @type {[number, number]} */ ([from, until])] : [])) })));
    const most = scored.filter(({ share }) => share >= LEAST);
    if (most.length) return { lines: marked(most), sure: true };
    const [call] = asked.flatMap(({ is }, at) => (asked[at + 1]?.is === "(" && names.includes(is) && this.has(is) ? [is] : [])).sort((a, b) => rare(b) - rare(a));
    return { lines: call ? marked(scored.filter(({ line }) => line.joined.includes(forms.get(call) ?? ""))) : [], sure: false };
  }
}

/** Of each section the best line. @param {Scored[]} scored @returns {Line[]} */
function best(scored) {
  /** @type {Map<string, Scored>} */
  const of = new Map();
  for (const one of scored) if (one.share > (of.get(one.line.at)?.share ?? 0)) of.set(one.line.at, one);
  return [...of.values()].map(({ line: { at, text }, share, hits }) => ({ at, text, share, hits }));
}
