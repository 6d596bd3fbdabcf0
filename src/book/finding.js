// Which sections of the book fit a question, the most fitting first.
import MiniSearch from "minisearch";
import { Code, coded, composed, sentence, telltale } from "./code.js";
import { findable, likeness, parts, places, slip, stem, telling, tells } from "./words.js";

/**
 * What the book's build writes: pages with their sections (anchor, heading, text, what is stressed, words of which no excerpt is made),
 * names of one thing, what to look for besides what readers ask, where who asks nothing else is led (titles, or a term), sources (address, title, authors and year, the section that tells most of it), where the code lies, functions of which sentences hardly speak, and where messages of errors lead (a part of them; titles; the last is for all others).
 * @typedef {{ pages: [string, string, string, string[][]][], same: string[][], asked: Record<string, string[]>, alone?: Record<string, string | string[]>, sources?: string[][], coded?: string, called?: string[], errors?: [string, string[]][] }} Given
 * @typedef {{ at: string, page: string, title: string, text: string, stressed: string, unread: string, kind: string, weight: number, said: string, within: string, called: string, hits?: [number, number][] }} Section `hits`: its text is a line of code, and there is what was asked for
 * @typedef {{ stems: string[], weight: number, changed?: string, other?: boolean, meant?: boolean, title?: boolean, name?: string }} Reading `other`: another name; `meant`: one that says the same; `title`: a section's
 * @typedef {Reading & { from: number, until: number }} Way
 * @typedef {{ found: Section[], error: boolean, cut: boolean, whole: boolean, meanings: Section[], defined: boolean, read: string[][], lost: string[], stems: Set<string>, phrases: string[][], wanted: Wanted[] }} Answer
 * @typedef {{ own: string[][], others: string[], rare: number }} Wanted one word: as it was asked for, the last words of other names, and how rare
 */

/** How much a page's kind counts: what teaches, before what is about the book, before what lists. */
const WEIGHT = /** @type {Record<string, number>} */ ({ chapter: 2.2, page: 1, about: 0.6, glossary: 0.33, reference: 0.3 });
/** Where no place says all that was asked, these come last … */
const LAST = ["reference", "about"];
/** … for so little do they count. */
const LATER = 1e-6;
/** A name as code has it, … */
const CODE = /[\p{L}\d][_.][\p{L}\d]|\p{Ll}\p{Lu}|\w\(/u;
/** … one of several parts in one piece, … */
const SNAKE = /^\s*\p{L}+(?:_[\p{L}\d]+)+\s*$/u;
/** … and one that means a module, and nothing besides. */
const DOTTED = /[\p{L}\d]\.\p{L}/u;
/** A short name. */
const SHORT = /\b\p{Lu}{2,5}\b/gu;
/** A heading that so many pages have, such as Quiz, stands over what repeats the rest. */
const SHARED = 6;
const FIELDS = ["title", "page", "stressed", "text", "unread"];
/** Of these, what a reader sees there. */
const SAID = ["title", "page", "stressed", "text"];
const BOOST = { title: 5, page: 4, stressed: 3 };
const MOST = 20;
/** No page takes more of the list than this. */
const OF_ONE = 3;
/** Terms less like what was asked for than this have nothing to do with it. */
const ALIKE = 0.5;
/** What a name counts for where the page is called so, and the section says something else. */
const WITHIN = 0.3;
/** How much more a place counts where a name of code stands word for word. */
const WORD_FOR_WORD = 10;
/** How much more a place counts that says every word. */
const ALL = 2.5;
/** … but for words that a third of the sections have, such as *attention*. */
const COMMON = Math.log(1 + 3);
/** What PyTorch and Python say when something is wrong, … */
const ERROR = /\b[A-Z]\w*(?:Error|Exception)\b|^\s*Traceback|cannot be multiplied|\bmust match\b|out of memory|out of range|[Nn]o module named|(?:scalar type|same dtype)\b/;
/** … but for its name. */
const NAMED = /^.*?\b[A-Z]\w*(?:Error|Exception)\b:?\s*/;
/** Kinds of pages that say what they say in sentences. */
const TAUGHT = ["chapter", "page", "about"];
/** Who asks so wants a definition first. */
const DEFINE = /^\s*(?:what(?:[’']?s| is| are| does)|define|explain)\b/i;
/** … and who asks so, a reason. */
const WHY = /^\s*why\b/i;
/** A definition wants, too, who asks for what a term is, by these words and nothing else. */
const WHAT = /\b(?:formula|equation|definition|meaning)\b(?: (?:of|for))?/i;
/** … or two. */
const APART = /(?:\bdifference between (.+) (?:and|vs\.?)|^(.+) (?:differ|different|vs\.?|versus|or|compared) (?:(?:from|to|than|with) )?)(.+?)\W*$/i;
/** How much more another name counts for a section that is called just so. */
const CALLED = 3;
/** So many words of a title name a source: fewer, such as *linear attention*, name the thing. */
const NAMING = 3;
/** What may stand behind an author’s name. */
const DATED = /(?: et al\b\.?)?,?(?: \(?\d{4}\)?)?\s*$/i;
/** What has a number, and is asked for by it. */
const NUMBER = /\b(ch(?:apter|\.)?|eq(?:uation|n)?\.?|ex(?:ercise)?\.?)\s*\(?0?(\d{1,2})(?:\.(\d{1,2}))?\b/i;
/** Who it is that does something: any part of the book is about it. */
const WHO = /\b((?:can|do|does|must|should|would)(?:n?[’']t)? (?:an? |the )?)(?:llm|model|network|transformer)s?\b/i;
/** Less is a guess at what is being written. */
const SURE = 0.5;
const FORMS = / \(| or |\)/;
/** Milliseconds of work between which a page may answer. */
const TURN = 8;

export class Book {
  constructor() {
    /** @type {Map<string, number>} each word of the book, and how often it stands there */
    this.vocabulary = new Map();
    /** @type {Map<string, Section>} */
    this.sections = new Map();
    /** @type {Map<string, Section[]>} what has a title of its own, by that title as it is written, and by its stems */
    this.titled = new Map();
    /** @type {Map<string, Section>} the glossary's terms, by each form of a term */
    this.terms = new Map();
    /** The glossary's address. */
    this.glossary = "";
    /** @type {Set<string>} */
    this.stems = new Set();
    /** @type {Map<string, Reading[]>} what else a phrase may be called */
    this.called = new Map();
    /** Where who asks just this is led. @type {Map<string, string[]>} */
    this.alone = new Map();
    /** @type {{ title: string, names: string[], entry: Section, told: Section | undefined }[]} what the bibliography lists, the oldest first, and what tells of it */
    this.sources = [];
    /** Functions of which sentences hardly speak. @type {Set<string>} */
    this.functions = new Set();
    /** Messages of errors, and what they lead to. @type {[RegExp, string[]][]} */
    this.errors = [];
    /** Where the code lies, and what it is once somebody has asked for it. */
    this.coded = "";
    /** @type {Code | null} */
    this.code = null;
    /** What has a number. @type {Map<string, Section>} */
    this.numbered = new Map();
    /** Sections of code and nothing else. @type {Map<string, Section>} */
    this.bare = new Map();
    this.index = new MiniSearch({
      fields: FIELDS,
      idField: "at",
      tokenize: (text) => text.split(" "),
      processTerm: (word) => word,
      searchOptions: { boost: BOOST, combineWith: "AND" },
    });
    /** @type {Map<string, { id: string, score: number, said: boolean }[]>} */
    this.answered = new Map();
  }

  /** @param {Given} given */
  static of(given) {
    const book = new Book();
    for (const _ of book.#takeUp(given));
    return book;
  }

  /** The same in turns, between which a page answers: all at once is most of a second of a phone's. @param {Given} given */
  static async inTurns(given) {
    const book = new Book();
    let until = performance.now() + TURN;
    for (const _ of book.#takeUp(given)) {
      if (performance.now() < until) continue;
      await new Promise((go) => setTimeout(go));
      until = performance.now() + TURN;
    }
    return book;
  }

  /** @param {Given} given */
  *#takeUp({ pages, same, asked, alone = {}, sources = [], coded = "", called = [], errors = [] }) {
    this.coded = coded;
    this.errors = errors.map(([part, titles]) => /** @type {[RegExp, string[]]} */ ([new RegExp(part, "i"), titles]));
    this.functions = new Set(called);
    const headings = new Map();
    for (const [, , , sections] of pages) for (const [, heading] of sections) headings.set(heading, (headings.get(heading) ?? 0) + 1);
    for (const [address, page, kind, sections] of pages) {
      for (const [anchor, heading, text, stressed, unread] of sections) {
        const at = anchor ? `${address}#${anchor}` : address;
        const weight = WEIGHT[kind] * (heading && headings.get(heading) >= SHARED ? 0.5 : 1);
        const title = heading || page;
        const stems = [title, page, stressed, text, unread].map((field) => this.#stems(field));
        const said = ` ${stems[0].single} . ${stems[3].single} `;
        const name = title.replace(/^\d+ /, "");
        const section = { at, page, title, text, stressed, unread, kind, weight, said, within: ` ${stems[1].single} `, called: key(name) };
        this.sections.set(at, section);
        if (TAUGHT.includes(kind) && !(heading && headings.get(heading) >= SHARED))
          for (const form of [written(name), ...(kind === "chapter" || !heading ? [key(name), ...numbered(title)] : [])]) this.titled.set(form, [...(this.titled.get(form) ?? []), section]);
        this.index.add({ at, ...Object.fromEntries(FIELDS.map((field, i) => [field, `${stems[i].single} ${stems[i].whole}`.trim()])) });
        yield;
      }
    }
    this.stems = new Set([...this.vocabulary.keys()].map(stem));
    for (const names of same) for (const name of names) this.#call(name, names.filter((other) => other !== name), 0.9, true);
    for (const [name, others] of Object.entries(asked)) this.#call(name, others, 0.7);
    this.alone = new Map(Object.entries(alone).map(([name, titles]) => [key(name), [titles].flat()]));
    const listed = pages.find(([address]) => address === sources[0]?.[0].split("#")[0])?.[1] ?? "";
    this.sources = [...sources].sort((a, b) => year(a[2]) - year(b[2])).map(([at, title, text, told]) => {
      const entry = /** @type {Section} */ ({ at, page: listed, title, text, stressed: "", unread: "", kind: "source", weight: 0, said: "", within: "", called: "" });
      return { title: written(title), names: text.replace(/(?: et al\.)?, \d*\.$/, "").split(" and ").map(written), entry, told: this.sections.get(told) };
    });
    this.glossary = pages.find(([, , kind]) => kind === "glossary")?.[0] ?? "";
    for (const section of this.sections.values()) {
      if (section.kind !== "glossary" || section.title === section.page) continue;
      for (const form of section.title.split(FORMS)) if (form) this.terms.set(key(form), section);
    }
    // A term of several words is asked for in one, too.
    for (const section of new Set(this.terms.values())) {
      const joined = stem(telling(section.title.split(FORMS)[0]).join(""));
      if (!this.terms.has(joined)) this.terms.set(joined, section);
    }
  }

  /** The places that have all of these stems, and whether a reader sees them there. @param {string} stems */
  having(stems) {
    let places = this.answered.get(stems);
    if (!places) {
      places = this.index.search(stems).map(({ id, score, match }) => ({ id, score, said: Object.values(match).every((fields) => fields.some((field) => SAID.includes(field))) }));
      this.answered.set(stems, places);
    }
    return places;
  }

  /** Take up a text's words, and give their stems. @param {string} text */
  #stems(text) {
    const { single, whole } = findable(text);
    for (const word of single) this.vocabulary.set(word, (this.vocabulary.get(word) ?? 0) + 1);
    for (const word of whole) this.vocabulary.set(word, (this.vocabulary.get(word) ?? 0) + 1);
    return { single: single.map(stem).join(" "), whole: whole.map(stem).join(" ") };
  }

  /** What is looked for in place of a word that the book doesn't have: the first that is no title. @param {string} name */
  #instead(name) {
    return this.called.get(name)?.find(({ title }) => !title)?.name;
  }

  /** @param {string} name @param {string[]} others @param {number} weight @param {boolean} [meant] */
  #call(name, others, weight, meant) {
    const ways = others.map((other, at) => ({ name: other, stems: telling(other).map(stem), weight: weight * 0.9 ** at, meant, title: this.titled.has(written(other)) }));
    this.called.set(key(name), [...(this.called.get(key(name)) ?? []), ...ways]);
  }

  /**
   * @param {{ lines: [string, string, string?][], numbered: Record<string, [string, string, string]> }} given places, their lines of code, and the
   * headings of those that have nothing else; and what has a number, with its place, its title and what it is about
   */
  takeUpCode({ lines, numbered }) {
    this.code = new Code(lines.map(([at, lines]) => [at, lines]));
    for (const [at, , heading] of lines) {
      const page = this.sections.get(at.split("#")[0]);
      if (heading && page) this.bare.set(at, { ...page, at, title: heading, weight: page.weight / 2 });
    }
    for (const [name, [at, title, text]] of Object.entries(numbered)) {
      const page = this.sections.get(at.split("#")[0]);
      if (page) this.numbered.set(name, { ...page, at, title, text });
    }
  }

  /** What somebody names by its number: a chapter, or what one has. @param {string} question @returns {Section[]} */
  #number(question) {
    const [, what, chapter, at] = question.toLowerCase().match(NUMBER) ?? [];
    if (!what) return [];
    const one = at ? this.numbered.get(`${what.startsWith("ex") ? "exercise" : "equation"} ${Number(chapter)}.${Number(at)}`) : undefined;
    return one ? [one] : at || !what.startsWith("ch") ? [] : this.titled.get(written(`chapter ${Number(chapter)}`)) ?? [];
  }

  /** Whether code may answer a question that has not been loaded. @param {string} question */
  wantsCode(question) {
    return Boolean(this.coded) && !this.code && this.#wants(question);
  }

  /** @param {string} question */
  #wants(question) {
    return coded(question) || NUMBER.test(question) || telltale(question).some((name) => this.functions.has(name));
  }

  /**
   * Find the sections that a question is about, and lines of code.
   * @param {string} question
   * @returns {Answer}
   */
  ask(question) {
    const [named] = this.#number(question);
    const answer = (ERROR.test(question) && this.#error(question)) || this.#words(question);
    if (!named) return answer;
    return { ...answer, found: [named, ...answer.found.filter(({ at }) => at !== named.at)], meanings: [], read: [], lost: [], whole: true };
  }

  /** Where a message of an error leads: what it is about, not where its words stand. @param {string} question @returns {Answer | undefined} */
  #error(question) {
    const [, titles] = this.errors.find(([part]) => part.test(question)) ?? [];
    const found = titles?.flatMap((title) => this.titled.get(written(title))?.slice(0, 1) ?? []) ?? [];
    if (!found.length) return;
    const answer = this.#words(question.replace(NAMED, ""));
    return { ...answer, found, meanings: [], read: [], lost: [], cut: false, error: titles === this.errors[this.errors.length - 1][1], whole: true };
  }

  /** @param {string} question @returns {Answer} */
  #words(question) {
    const told = this.#answer(question);
    const { lines, names, before, sure } = this.#lines(question);
    // Of what PyTorch may have and the book doesn't, where its module stands says nothing.
    const foreign = coded(question) && !sentence(question) && names.length > 0 && names.every((name) => parts(name).every((part) => told.lost.includes(part)));
    if (!lines.length) return foreign ? { ...told, found: [], meanings: [] } : told;
    // Of code, what is about nothing but its names is left, if anything; its digits and brackets are no words.
    const pure = composed(question) && !sentence(question) && !told.led;
    const named = pure && names.length ? this.#answer(names.join(" ")) : told;
    const answer = pure && !named.whole ? { ...named, found: [], meanings: [], lost: [], read: [] } : named;
    const lost = answer.lost.filter((word) => !names.some((name) => name === word || name.split("_").includes(word)));
    const until = before ? answer.led : Math.max(answer.led, 1);
    const places = new Map();
    for (const one of [...answer.found.slice(0, until), ...lines, ...answer.found.slice(until)]) if (!places.has(one.at)) places.set(one.at, one);
    return { ...answer, found: [...places.values()].slice(0, MOST), lost, read: answer.read.filter(([word]) => !names.includes(word)), whole: answer.whole || (before && sure && !lost.length) };
  }

  /**
   * The lines of code that a question asks for, whether they come before what sentences say, and the names of code in it.
   * @param {string} question
   * @returns {{ lines: Section[], before: boolean, sure: boolean, names: string[] }}
   */
  #lines(question) {
    const { code } = this;
    if (!code || !this.#wants(question)) return { lines: [], before: false, sure: false, names: [] };
    const names = telltale(question);
    const alone = coded(question) && !sentence(question);
    const asked = coded(question) ? question.trim() : names.find((name) => this.functions.has(name)) ?? "";
    const { lines, sure } = code.find(asked);
    const low = asked.toLowerCase();
    const said = !composed(question) && [...this.sections.values()].some(({ text, kind }) => TAUGHT.includes(kind) && text.toLowerCase().includes(low));
    const shown = lines.flatMap(({ at, text, share, hits }) => {
      const section = this.sections.get(at) ?? this.bare.get(at);
      return section ? [{ ...section, text, share, hits }] : [];
    });
    // Of lines that are as good, the first that a chapter explains.
    shown.sort((a, b) => b.share - a.share || b.weight - a.weight);
    return { lines: shown.slice(0, said ? 1 : OF_ONE), before: !said && (sure || alone), sure, names };
  }

  /** @param {string} question @returns {Answer & { led: number }} what the book's sentences say of it, and how many places it is led to */
  #answer(question) {
    const rest = question.replace(WHAT, "");
    if (rest !== question && !this.alone.has(key(question)) && this.terms.has(key(rest))) return { ...this.#answer(rest), defined: true };
    const done = question.replace(WHO, "$1");
    const asked = telling(tells(done) ? done : question);
    // A short name in capitals is no slip of a word.
    const short = /\p{Ll}/u.test(question) || asked.length < 2 ? (question.match(SHORT) ?? []).map((name) => name.toLowerCase()) : [];
    const read = asked.map((word, at) => this.#read(word, at === asked.length - 1 && !/\s$/.test(question), short.includes(word)));
    const ways = [...read.flatMap((some, at) => some.map((way) => ({ ...way, from: at, until: at + 1 }))), ...(DOTTED.test(question.replace(/^\s*torch\./, "")) ? [] : this.#spans(asked, read))];
    // A name of code that means nothing else is read in one piece where it stands so.
    const name = SNAKE.test(question) && !this.terms.has(key(question)) ? stem(parts(question).join("")) : "";
    const exactly = new Set(name ? this.having(name).flatMap(({ id, said }) => (said ? id : [])) : []);
    if (exactly.size) ways.push({ stems: [name], weight: 2, from: 0, until: asked.length });
    const { scores, rarity } = this.#score(ways, asked.length);
    // Of a word that the book has nowhere, the rest is what it can answer.
    const unknown = asked.filter((_, at) => !ways.some(({ from, until }) => from <= at && at < until));
    const lost = unknown.length < asked.length ? unknown : [];
    const exact = asked.flatMap((word, at) => (lost.includes(word) ? [] : (read[at][0]?.stems.join(" ") ?? stem(word)))).join(" ");
    // *Multi head* is short for multi-head attention, and *attention weights* are the weights.
    const alone = this.alone.get(exact) ?? this.alone.get(key(question)) ?? [];
    const led = alone.flatMap((name) => this.terms.get(key(name)) ?? [])[0];
    const term = led ?? this.terms.get(exact) ?? this.terms.get(`${exact} ${stem("attention")}`) ?? this.terms.get(exact.replace(`${stem("attention")} `, ""));
    const meaning = term ?? (this.called.get(exact) ?? []).map(({ stems }) => this.terms.get(stems.join(" "))).find(Boolean);
    const sides = question.match(APART)?.slice(1).map((one) => key(one ?? "")) ?? [];
    const apart = sides.flatMap((one) => this.terms.get(one) ?? []);
    const meanings = apart.length > 1 ? apart : meaning ? [meaning] : [];
    // A list of code that has the words answers who asks for code.
    const code = asked.length < 2 || CODE.test(question);
    for (const [at, score] of scores) score.whole &&= code || this.sections.get(at)?.kind !== "reference";
    const near = this.#rank(question, asked, exact, scores, exactly, meanings);
    const title = written(question);
    const times = new Map();
    // What is called just so comes first, and so does what is meant by another name; of a term, its definition does.
    const others = (this.called.get(exact) ?? []).map(({ stems }) => stems.join(" "));
    const bare = this.terms.has(exact);
    const whose = bare ? "" : written(question.replace(DATED, ""));
    const when = question.match(/\d{4}/)?.[0] ?? "";
    const cited = this.sources.filter((source) => (source.names.includes(whose) && source.entry.text.includes(when)) || (title.split(" ").length > NAMING && source.title.startsWith(title)));
    const named = [title, written(asked.join(" ")), ...(bare ? [] : [exact]), ...others].flatMap((name) => this.titled.get(name) ?? []);
    const called = [...cited.map(({ entry }) => entry), ...named.filter(({ kind }) => !bare || kind === "chapter"), ...cited.flatMap(({ told }) => told ?? [])];
    const first = [...alone.flatMap((name) => this.titled.get(written(name)) ?? []), ...called];
    // Of two things asked apart, the best place may tell of one alone.
    const beside = sides.flatMap((one) => this.titled.get(one) ?? []);
    const fair = near.filter(({ section: { page }, score }) => score && times.set(page, (times.get(page) ?? 0) + 1).get(page) <= OF_ONE);
    const { stems, phrases, wanted } = marked(asked, ways, rarity);
    // Behind those that show why they were found, what doesn't (it has the words in a table) is noise; and so is, anywhere
    // among them, a page that lists what chapters teach, and what lacks one of the words as well.
    const told = fair.slice(0, MOST).map(({ section: { title, text } }) => places(`${title}. ${text}`, stems, phrases).length > 0);
    const shows = (/** @type {string} */ text) => excerpt(text, { stems, phrases, wanted }).some(({ hit }) => hit);
    const shown = fair.slice(0, told.includes(true) ? told.lastIndexOf(true) + 1 : MOST).map(({ section }) => section).filter(({ kind }, at) => told[at] || !["page", "about"].includes(kind) || !told.includes(true));
    const clear = fair[0]?.whole ? shown.filter(({ at, title, text }) => scores.get(at)?.whole || shows(title) || shows(text)) : shown;
    const found = new Map();
    for (const one of [...first, ...clear.slice(0, 1), ...beside, ...clear]) if (!found.has(one.at)) found.set(one.at, one);
    // A name that the book never says is told, as a slip is.
    const changed = asked.flatMap((word, at) => {
      const instead = read[at][0] ? read[at][0].changed : this.#instead(stem(word));
      return instead ? [[word, instead]] : [];
    });
    return {
      found: [...found.values()].slice(0, MOST),
      error: false,
      cut: fair.length > MOST,
      whole: cited.length > 0 || (first.length > 0 && !lost.length) || Boolean(fair[0]?.whole),
      meanings,
      defined: (apart.length > 1 && !first.length) || (meaning !== undefined && (DEFINE.test(question) || ((exact.length === 1 || !WHY.test(question)) && meaning === term && (led !== undefined || !called.length)))),
      read: changed,
      lost,
      stems,
      phrases,
      wanted,
      led: new Set(first.map(({ at }) => at)).size,
    };
  }

  /**
   * The places that have the words, the most fitting first, each with how well it fits.
   * @param {string} question
   * @param {string[]} asked its words
   * @param {string} exact their stems
   * @param {Map<string, { score: number, whole: boolean, alone: boolean, all: boolean }>} scores what each place has of them
   * @param {Set<string>} exactly where a name of code stands word for word
   * @param {Section[]} meanings the glossary's entries, which are not ranked
   */
  #rank(question, asked, exact, scores, exactly, meanings) {
    const full = [...scores.values()].some(({ whole }) => whole);
    // Where a place has every word, what has the commonest alone is about something else.
    const ranked = [...scores].filter(([, { alone }]) => !(full && alone)).map(([at, { score, whole, all }]) => {
      const section = /** @type {Section} */ (this.sections.get(at));
      const more = all && TAUGHT.includes(section.kind) ? ALL : 1;
      return { section, whole, score: meanings.includes(section) ? 0 : score * section.weight * more * (!full && LAST.includes(section.kind) ? LATER : 1) };
    });
    ranked.sort((a, b) => b.score - a.score);
    const near = ranked.slice(0, 60);
    // More for a place where the words stand side by side, and for one that is called so.
    const pairs = exact.split(" ").map((word, at, all) => ` ${word} ${all[at + 1]} `).slice(0, -1);
    for (const one of near) {
      if (asked.length > 1 && one.section.said.includes(` ${exact} `)) one.score *= 1.5;
      else if (pairs.some((pair) => one.section.said.includes(pair))) one.score *= 1.25;
      if (written(one.section.title) === written(question)) one.score *= 2;
      if (exactly.has(one.section.at)) one.score *= WORD_FOR_WORD;
      // Who asks for a reason wants the section that gives one.
      if (WHY.test(question) && WHY.test(one.section.title)) one.score *= 2;
    }
    return near.sort((a, b) => b.score - a.score);
  }

  /**
   * The glossary's terms that look like a question, the likest first.
   * @param {string} question
   * @returns {Section[]}
   */
  nearest(question) {
    const asked = telling(question);
    const best = new Map();
    for (const section of this.terms.values()) {
      const names = [section.title.split(FORMS).join(" "), ...telling(section.title)].map((name) => name.trim().toLowerCase());
      const alike = Math.max(...[asked.join(" "), ...asked].flatMap((word) => names.map((name) => likeness(word, name))));
      best.set(section, alike);
    }
    const near = [...best].filter(([, alike]) => alike > ALIKE).sort((a, b) => b[1] - a[1]);
    return near.slice(0, 5).map(([section]) => section);
  }

  /**
   * The ways to read one word: as it is, as a beginning, as a slip.
   * @param {string} word
   * @param {boolean} unfinished whether the reader may still be writing it
   * @param {boolean} [short] whether it is a short name
   * @returns {Reading[]}
   */
  #read(word, unfinished, short = false) {
    const own = stem(word);
    const known = this.stems.has(own);
    const ways = known ? [{ stems: [own], weight: 1 }] : [];
    if (word.length > 1 && (unfinished || (!known && word.length > 3))) {
      const longer = this.#known((other) => other.startsWith(word) && stem(other) !== own);
      ways.push(...longer.slice(0, 12).map((other) => ({ stems: [stem(other)], weight: known ? 0.3 : 0.8 })));
    }
    if (ways.length || word.length < 4 || short || this.functions.has(word)) return ways;
    const halves = [...word].map((_, at) => [word.slice(0, at), word.slice(at)]).find((pair) => this.#says(pair.map(stem).join(" ")));
    if (halves) return [{ stems: halves.map(stem), weight: 0.9, changed: halves.join(" ") }];
    // What goes by another name is no slip.
    if (this.called.has(own)) return [];
    // One alone, and first letters are seldom wrong: the reader is told what was read, and nothing else is marked. Of a name
    // with a digit, such as gpt4, only the digit may be too much: mat1 is not math.
    const slips = this.#known((other) => slip(word, other) && (!/\d/.test(word) || other === word.replace(/\d+/, "")));
    // A letter is sooner left out than wrong.
    const whole = (/** @type {string} */ other) => [...word].every((letter, at) => other.includes(letter, at));
    const near = slips.filter((other) => other[0] === word[0]);
    const meant = near.find((other) => other.length > word.length && whole(other)) ?? near[0] ?? slips[0];
    return meant ? [{ stems: [stem(meant)], weight: 0.8, changed: meant }] : [];
  }

  /** Words of the book, the most frequent first. @param {(word: string) => boolean} which */
  #known(which) {
    return [...this.vocabulary].filter(([word]) => which(word)).sort((a, b) => b[1] - a[1]).map(([word]) => word);
  }

  /**
   * The ways to read several words at once: in one piece, or as another name.
   * @param {string[]} asked
   * @param {{ stems: string[], changed?: string }[][]} read
   * @returns {Way[]}
   */
  #spans(asked, read) {
    const stems = asked.map((word, at) => read[at][0]?.stems.join(" ") ?? stem(word));
    const ways = [];
    for (let from = 0; from < asked.length; from++) {
      for (let until = from + 1; until <= Math.min(asked.length, from + 4); until++) {
        const joined = asked.slice(from, until).map((word, at) => read[from + at][0]?.changed ?? word).join("");
        if (until > from + 1 && this.vocabulary.has(joined)) ways.push({ from, until, stems: [stem(joined)], weight: 2 });
        const others = this.called.get(stems.slice(from, until).join(" ")) ?? this.called.get(asked.slice(from, until).map(stem).join(" ")) ?? [];
        ways.push(...others.map((way) => ({ from, until, ...way, other: true })));
      }
    }
    return ways;
  }

  /**
   * What each place has of the words asked for: of each word, the best way to read it.
   * @param {Way[]} ways
   * @param {number} count how many words were asked for
   */
  #score(ways, count) {
    /** @type {Map<string, { of: Float64Array, said: Set<number> }>} */
    const has = new Map();
    for (const { from, until, stems, weight, other, title } of ways) {
      const phrase = ` ${stems.join(" ")} `;
      for (const { id, score, said: seen } of this.having(stems.join(" "))) {
        const { said, within, called } = /** @type {Section} */ (this.sections.get(id));
        // Another name counts where it stands as one, and a title where a section is called so.
        const just = other && ` ${called} ` === phrase;
        const near = !(title && !just) && (stems.length === 1 || said.includes(phrase)) ? (just ? CALLED : 1) : within.includes(phrase) ? WITHIN : 0;
        if (!near) continue;
        if (!has.has(id)) has.set(id, { of: new Float64Array(count), said: new Set() });
        const place = /** @type {{ of: Float64Array, said: Set<number> }} */ (has.get(id));
        for (let word = from; word < until; word++) {
          place.of[word] = Math.max(place.of[word], (score * weight * near) / (until - from));
          if (seen && near >= 1 && weight >= SURE) place.said.add(word);
        }
      }
    }
    const rarity = Array.from({ length: count }, (_, word) => {
      const places = [...has.values()].filter(({ of }) => of[word] > 0).length;
      return places ? Math.log(1 + this.sections.size / places) : 0;
    });
    const all = rarity.reduce((sum, one) => sum + one, 0);
    const commonest = rarity.indexOf(Math.min(...rarity));
    const scores = new Map();
    for (const [id, { of, said }] of has) {
      const covered = rarity.reduce((sum, one, word) => sum + (of[word] ? one : 0), 0) / all;
      scores.set(id, { score: of.reduce((sum, one) => sum + one, 0) * (0.05 + covered ** 2), whole: of.every((one) => one > 0), alone: count > 1 && of.every((one, word) => !one === (word !== commonest)), all: rarity.every((one, word) => one < COMMON || said.has(word)) });
    }
    return { scores, rarity };
  }

  /** Whether these stems stand side by side anywhere. @param {string} phrase */
  #says(phrase) {
    return [...this.sections.values()].some(({ said }) => said.includes(` ${phrase} `));
  }
}

/**
 * What is marked in an excerpt, and what it should say.
 * @param {string[]} asked a question's words
 * @param {Way[]} ways
 * @param {number[]} rarity how rare each word is
 * @returns {Pick<Answer, "stems" | "phrases" | "wanted">}
 */
function marked(asked, ways, rarity) {
  // Of a root, what stands under it isn't marked alone.
  const root = asked.findIndex((word, at) => ["sqrt", "root"].includes(word) && asked[at + 1]?.length < 3);
  const under = root < 0 ? [] : ["sqrt", ...asked.slice(root + 1).filter((word) => word.length < 3)];
  // Marked is what was asked for, and what says the same: not what is looked for besides.
  const own = ways.filter(({ other, meant }) => !other || meant);
  const stems = new Set(own.flatMap(({ stems }) => (stems.length === 1 && !under.includes(stems[0]) ? stems : [])));
  const phrases = [...own.map(({ stems }) => stems).filter(({ length }) => length > 1), ...(root < 0 ? [] : [["sqrt", asked[root + 1][0]]])];
  const wanted = asked.map((_, at) => {
    const [own, others] = [true, false].map((is) => ways.filter(({ from, until, other, meant, title }) => from <= at && at < until && !title && (!other || meant === true) === is).map(({ stems }) => stems));
    return { own, others: others.map((stems) => stems[stems.length - 1]), rare: rarity[at] < COMMON ? 0 : rarity[at] };
  });
  return { stems, phrases, wanted };
}

/** @param {string} phrase */
const key = (phrase) => telling(phrase).map(stem).join(" ");

/** The year of a source, from its authors and year. @param {string} text */
const year = (text) => Number(text.match(/\d+(?=\.$)/)?.[0] ?? 0);

/** What a chapter is called by its number. @param {string} title */
const numbered = (title) => (title.match(/^\d+(?= )/) ?? []).flatMap((number) => [...new Set([number, `${Number(number)}`])].map((one) => written(`chapter ${one}`)));

/** A title with all of its words. @param {string} title */
const written = (title) => `= ${parts(title).join(" ").toLowerCase()}`;

/** Where a sentence ends and the next begins. */
const END = /[.?!…][”’)]?\s+(?=[\p{Lu}\p{N}“‘(…])/gu;
/** A sentence of fewer words is a riddle alone. */
const FEWEST = 5;
/** More than this of one sentence is not read in a list. */
const LONGEST = 320;

/** A text's sentences, from and until where. @param {string} text @returns {[number, number][]} */
function sentences(text) {
  const ends = [...text.matchAll(END)].map((end) => end.index + end[0].length);
  return [0, ...ends].map((from, at) => /** @type {[number, number]} */ ([from, ends[at] ?? text.length])).filter(([from, until]) => /\p{L}/u.test(text.slice(from, until)));
}

/** So much of what was asked for, by how rare each word is, a sentence has to say to be read instead of the first. */
const TELLING = 0.6;
/** … and so much if the first says nothing of it. */
const SOME = 0.4;
/** A sentence that leans on what stands before it. */
const LEANS = /^(?:\(|(?:And|But|Here|It|Its|So|That|Then|There|These|They|This|Those)\b)/;
/** What another name counts, or its last word: "pairs" of "all pairs". */
const OTHER = 0.7;

/**
 * Cut a text's first sentence, or the one that says nearly all that was asked for, with those behind it if all are short, and
 * say where in them the words are.
 * @param {string} text
 * @param {Pick<Answer, "stems" | "phrases" | "wanted">} asked
 * @returns {{ text: string, hit: boolean }[]}
 */
export function excerpt(text, { stems, phrases, wanted }, length = 150) {
  const hits = places(text, stems, phrases);
  const all = sentences(text);
  const among = (/** @type {[number, number][]} */ found, /** @type {number} */ from, /** @type {number} */ until) => found.filter(([start, end]) => start >= from && end <= until);
  const inside = (/** @type {number} */ from, /** @type {number} */ until) => among(hits, from, until);
  const common = wanted.every(({ rare }) => !rare);
  const has = all.map(() => 0);
  let total = 0;
  for (const { own, others, rare } of wanted) {
    const [typed, called] = [places(text, new Set(own.filter((way) => way.length === 1).flat()), own), places(text, new Set(others))];
    const counts = common ? 1 : rare;
    total += counts;
    all.forEach(([from, until], at) => (has[at] += counts * (among(typed, from, until).length ? 1 : among(called, from, until).length ? OTHER : 0)));
  }
  const most = Math.max(0, ...has);
  // The first sentence is read unless another says nearly all, or some where it says nothing: one that can be read alone.
  const alone = all.map(([from, until], at) => (LEANS.test(text.slice(from, until)) ? 0 : has[at]));
  const some = has[0] ? 0 : Math.max(0, ...alone);
  const best = most && most >= TELLING * total ? has.indexOf(most) : some && some >= SOME * total ? alone.indexOf(some) : 0;
  let [from, until] = all[best] ?? [0, text.length];
  // What the build left out of a text stands as an ellipsis: no sentence goes on behind it.
  for (const [start, end] of all.slice(best + 1)) {
    const few = text.slice(from, until).trim().split(/\s+/).length < FEWEST;
    if (start === until && (few || end - from <= length)) until = end;
  }
  const whole = until - from <= LONGEST;
  if (!whole) {
    const start = Math.max(from, (inside(from, until)[0]?.[0] ?? from) - 80);
    const end = start + LONGEST;
    from = start > from ? text.indexOf(" ", start) + 1 : from;
    if (end < until) until = text.lastIndexOf(" ", end);
  }
  const [cutBefore, cutBehind] = [from > (all[best]?.[0] ?? 0), !whole && until < (all[best]?.[1] ?? until)];
  const pieces = [];
  let at = from;
  for (const [start, end] of inside(from, until)) {
    pieces.push({ text: text.slice(at, start), hit: false }, { text: text.slice(start, end), hit: true });
    at = end;
  }
  pieces.push({ text: text.slice(at, until).trimEnd(), hit: false });
  if (cutBefore) pieces.unshift({ text: "… ", hit: false });
  if (cutBehind) pieces.push({ text: " …", hit: false });
  return pieces.filter((piece) => piece.text);
}
