// The book's search: sections, chapters first, with a piece of their prose. Works from the disk: its data is a script.
import MiniSearch from "minisearch";

/** @typedef {{ at: string, page: string, title: string, text: string, terms: string, kind: string }} Section */

/** How much a page's kind counts: what teaches, before what lists. */
const WEIGHT = { chapter: 2.2, page: 1, reference: 0.3 };
const MOST = 20;
/** No page takes more of the list than this. */
const OF_ONE = 4;
const PASSED_OVER = new Set("a an and are as at be by can do does for from has have how i in is it its of on or so that the this to what when where which who why with".split(" "));
const WORD = /[\p{L}\p{N}]+/gu;

/** @param {string} text */
export const words = (text) => text.replaceAll("√", " sqrt ").normalize("NFKD").replace(/\p{M}/gu, "").match(WORD) ?? [];

/** One form for *mask*, *masks* and *masking*. @param {string} word */
export function stem(word) {
  const low = word.toLowerCase();
  const short = low.length > 4 ? low.replace(/(?:ing|ed|es|s|e)$/, "") : low;
  return short.length > 2 ? short : low;
}

/** @param {Section[]} sections */
export function index(sections) {
  const search = new MiniSearch({
    fields: ["title", "page", "text", "terms"],
    idField: "at",
    tokenize: words,
    processTerm: (word) => (PASSED_OVER.has(word.toLowerCase()) ? null : stem(word)),
    searchOptions: {
      boost: { title: 5, page: 4 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    },
  });
  search.addAll(sections);
  return search;
}

/**
 * Find the sections that a question is about, the most fitting first.
 * @param {MiniSearch<Section>} search
 * @param {Section[]} sections
 * @param {string} question
 * @returns {Section[]}
 */
export function find(search, sections, question) {
  const byPlace = new Map(sections.map((section) => [section.at, section]));
  const kind = (/** @type {string} */ at) => /** @type {Section} */ (byPlace.get(at)).kind;
  const options = { boostDocument: (/** @type {string} */ at) => WEIGHT[/** @type {keyof typeof WEIGHT} */ (kind(at))] };
  // Places with some of the words; those with all of them count four times.
  const all = new Set(search.search(question, { ...options, combineWith: "AND" }).map(({ id }) => id));
  const some = search.search(question, options).map(({ id, score }) => ({ id, score: all.has(id) ? 4 * score : score }));
  const found = some.sort((a, b) => b.score - a.score).map(({ id }) => /** @type {Section} */ (byPlace.get(id)));
  const times = new Map();
  const fair = found.filter(({ page }) => times.set(page, (times.get(page) ?? 0) + 1).get(page) <= OF_ONE);
  return fair.slice(0, MOST);
}

/**
 * Cut the piece of a text in which most of the words asked for stand, and say where they are in it.
 * @param {string} text
 * @param {string} question
 * @returns {{ text: string, hit: boolean }[]}
 */
export function excerpt(text, question, length = 170) {
  const asked = new Set(words(question).filter((word) => !PASSED_OVER.has(word.toLowerCase())).map(stem));
  const hits = [...text.matchAll(WORD)].filter(([word]) => asked.has(stem(word))).map((hit) => [hit.index, hit.index + hit[0].length]);
  const within = (/** @type {number} */ from) => hits.filter(([start, end]) => start >= from && end <= from + length).length;
  const best = hits.map(([start]) => Math.max(start - 40, 0)).reduce((most, from) => (within(from) > within(most) ? from : most), 0);
  const from = best ? text.indexOf(" ", best) + 1 : 0;
  const until = from + length < text.length ? text.lastIndexOf(" ", from + length) : text.length;
  const pieces = [];
  let at = from;
  for (const [start, end] of hits.filter(([start, end]) => start >= from && end <= until)) {
    pieces.push({ text: text.slice(at, start), hit: false }, { text: text.slice(start, end), hit: true });
    at = end;
  }
  pieces.push({ text: text.slice(at, until), hit: false });
  if (from) pieces.unshift({ text: "… ", hit: false });
  if (until < text.length) pieces.push({ text: " …", hit: false });
  return pieces.filter((piece) => piece.text);
}

/** @param {Section[]} sections */
function start(sections) {
  const search = index(sections);
  const field = /** @type {HTMLInputElement} */ (document.querySelector("#attn-search input"));
  const list = /** @type {HTMLElement} */ (document.querySelector("#search-results"));
  const status = /** @type {HTMLElement} */ (document.querySelector("#attn-search [role=status]"));
  const show = () => {
    const question = field.value.trim();
    const found = question ? find(search, sections, question) : [];
    const items = found.map((section) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = section.at;
      link.textContent = section.page === section.title ? section.page : `${section.page} › ${section.title}`;
      const about = document.createElement("p");
      for (const { text, hit } of excerpt(section.text, question)) {
        const piece = hit ? document.createElement("mark") : document.createTextNode(text);
        if (hit) piece.textContent = text;
        about.append(piece);
      }
      item.append(link, about);
      return item;
    });
    list.replaceChildren(...items);
    const many = found.length === MOST ? `The ${MOST} most fitting places.` : `${found.length} ${found.length === 1 ? "place" : "places"}.`;
    status.textContent = !question ? "" : found.length ? many : `Nothing in the book fits “${question}”.`;
  };
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", () => {
    const address = new URL(location.href);
    address.searchParams.set("q", field.value);
    // From the disk some browsers refuse this; the search works without.
    try {
      history.replaceState(null, "", address);
    } catch {}
    show();
  });
  document.querySelector("#attn-search form")?.addEventListener("submit", (event) => event.preventDefault());
  field.focus();
  show();
}

const given = /** @type {any} */ (globalThis).attnlabSections;
if (given) start(given);
