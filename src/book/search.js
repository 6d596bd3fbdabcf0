// The book's search, on its own page and in the dialog of every page: what is found while one types, with the arrow
// keys, and Enter. Works from the disk: its data is a script.
// A combobox with a listbox, as the ARIA practices have it: the field keeps the focus, and names the row that is lit.
import { Book, excerpt } from "./finding.js";
import { tells } from "./words.js";

/** @typedef {import("./finding.js").Section} Section */

/** Milliseconds after the last letter: on a slow phone a search for each would hold up the next. */
const PAUSE = 60;
const HINT = "A word, a name or a question, such as: why divide by √d?";
/** For whom nothing was found, or who has not yet asked. */
const TRY = ["why divide by √d", "KV cache", "flash attention"];
/** @type {import("./finding.js").Answer} */
const NOTHING = { found: [], error: false, cut: false, whole: false, meanings: [], defined: false, read: [], lost: [], stems: new Set(), phrases: [], wanted: [] };
const ROOT = document.documentElement.dataset.content_root ?? "./";

/** @param {string} tag @param {string} name @param {(Node | string)[]} children */
function make(tag, name = "", ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children);
  return made;
}

/** @param {string} address @param {(Node | string)[]} children */
function link(address, ...children) {
  const made = /** @type {HTMLAnchorElement} */ (make("a", "", ...children));
  made.href = ROOT + address;
  return made;
}

/** A link to what the search's page finds. @param {string} question @param {string} text */
const asking = (question, text) => link(`search.html?q=${encodeURIComponent(question)}`, text);

/** @typedef {Pick<import("./finding.js").Answer, "stems" | "phrases" | "wanted">} Asked */

/** @param {string} text @param {Asked} asked @param {number} [length] */
const marked = (text, asked, length) => excerpt(text, asked, length).map(({ text, hit }) => (hit ? make("mark", "", text) : text));

/** What an address ends with that leads to a text, by its beginning and end. @param {string[]} parts */
const leading = (...parts) => `:~:text=${parts.map((part) => encodeURIComponent(part).replaceAll("-", "%2D")).join(",")}`;

/** The sentence that was found, so that a browser scrolls to it and marks it: its heading may stand a screen above. Of the sentence, words
 * before the first formula, number or name, which pages write otherwise; too few stand elsewhere, too. It is marked as far as a part of it
 * ends in words. @param {HTMLElement[]} about */
function sentence([about]) {
  const [said] = (about?.textContent ?? "").match(/^.*?[.?!](?=\s|$)/) ?? [""];
  const [words = ""] = said.match(/^(?:(?:[aAI]|[\p{L}’-]{2,})(?:, | |(?=[.?!]$)))+/u) ?? [];
  const all = words.trim().split(" ");
  const some = all.slice(0, all.length < 12 && words.length > said.length - 2 ? 12 : 8).join(" ");
  const [, last] = said.slice(some.length).match(/^.* ((?:(?:a|[\p{Ll}’-]{2,}) ){2}[\p{Ll}’-]{2,})[.,:;?!](?:\s|$)/u) ?? [];
  return some.split(" ").length < 4 ? "" : leading(some, ...(last ? [last] : []));
}

/** The same for a line of code, as far as its first wide gap. @param {string} text */
const line = (text) => leading(text.split("  ")[0]);

/** A line of code with what was asked for marked. @param {string} text @param {[number, number][]} hits */
const lined = (text, hits) => [...hits.flatMap(([from, until], i) => [text.slice(hits[i - 1]?.[1] ?? 0, from), make("mark", "", text.slice(from, until))]), text.slice(hits[hits.length - 1]?.[1] ?? 0)];

/** @param {string[]} parts */
const listed = (parts) => parts.join(", ").replace(/, ([^,]*)$/, " and $1");

/**
 * Let a field search.
 * @param {Book} book
 * @param {Element} part what holds the form and the place for what is found
 * @param {{ most: number, follow: (question: string) => void }} options how many places, and what else a question changes
 */
function mount(book, part, { most, follow }) {
  const form = /** @type {HTMLFormElement} */ (part.querySelector("form"));
  const field = /** @type {HTMLInputElement} */ (form.querySelector("input"));
  const found = /** @type {HTMLElement} */ (part.querySelector(".attn-found"));
  const status = make("p", "attn-status");
  status.setAttribute("role", "status");
  const list = make("ol", "attn-places");
  const more = make("p", "attn-more");
  const options = make("div", "", list, more);
  options.id = `${part.id}-places`;
  options.setAttribute("role", "listbox");
  options.setAttribute("aria-label", "Places in the book");
  for (const between of [list, more]) between.setAttribute("role", "none");
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", options.id);
  found.replaceChildren(status, options);

  let lit = -1;
  const rows = () => /** @type {HTMLAnchorElement[]} */ ([...options.querySelectorAll("a")]);
  /** Where Enter leads; below 0, nowhere. @param {number} at */
  const light = (at) => {
    lit = at;
    rows().forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    if (at < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", rows()[at].id);
  };

  /** @param {string} name @param {Node} content */
  const row = (name, content) => {
    const made = make("li", name, content);
    made.setAttribute("role", "none");
    return made;
  };
  /** @param {Section} section @param {Asked} asked */
  const item = ({ at, page, title, text, hits }, asked) => {
    const where = page === title ? [] : [make("span", "attn-where", page)];
    const head = make("span", "attn-what", ...marked(title, asked, 200));
    const about = text ? [hits ? make("code", "attn-about", ...lined(text, hits)) : make("span", "attn-about", ...marked(text, asked))] : [];
    const to = hits ? line(text) : sentence(about);
    return row("", link(at.includes("#") ? at + to : hits ? `${at}#${to}` : at, ...where, head, ...about));
  };
  /** @param {Section} term */
  const explained = ({ at, page, title, text }) =>
    row("attn-meaning", link(at, make("span", "attn-where", page), make("span", "attn-what", title), make("span", "attn-about", text)));
  const show = () => {
    const question = field.value.trim();
    const answer = question ? book.ask(field.value.trimStart()) : NOTHING;
    const places = answer.found.slice(0, most);
    // The best place stands first, for Enter leads to it; then what the words mean, or before it, for who asks just that.
    const first = places.map((section) => item(section, answer));
    first.splice(answer.defined ? 0 : 1, 0, ...answer.meanings.map(explained));
    const fits = first.length > 0;
    // A sign that has no name is a question, too.
    const lost = !fits && (tells(question) || (question !== "" && !/[\p{L}\p{N}]/u.test(question)));
    const near = lost ? book.nearest(question) : [];
    list.replaceChildren(...first, ...near.map((section) => item(section, answer)));
    const all = asking(question, `${answer.cut ? "The best" : "All"} ${answer.found.length} results`);
    const others = near.length ? [] : TRY.map((other) => asking(other, `Try “${other}”`));
    const terms = link(book.glossary, "All terms of the glossary");
    more.replaceChildren(...(answer.found.length > places.length ? [all] : lost ? [terms, ...others] : fits ? [] : others));
    rows().forEach((row, i) => {
      row.id = `${options.id}-${i}`;
      row.setAttribute("role", "option");
    });
    field.setAttribute("aria-expanded", String(rows().length > 0));
    // The first place is chosen while one writes, or the likest term; of what nobody asked for, nothing is.
    light(fits || near.length ? 0 : -1);
    const nothing = `Nothing in the book fits “${question}”.${near.length ? " Terms of the glossary that look like it:" : ""}`;
    // How many rows there are is for who hears them.
    status.classList.toggle("visually-hidden", fits && answer.whole && !answer.read.length && !answer.error);
    status.textContent = fits ? said(answer, places.length) : lost ? nothing : HINT;
    part.classList.toggle("attn-asked", Boolean(question));
    part.classList.toggle("attn-hit", fits || near.length > 0);
    // Code comes behind, and what stands there meanwhile is no answer yet.
    const waits = book.wantsCode(question);
    if (waits) code(book).then(() => field.value.trim() === question && show());
    found.dataset.of = waits ? "" : question;
    found.scrollTop = 0;
    follow(question);
  };
  /** @param {import("./finding.js").Answer} answer @param {number} shown how many of its places are listed */
  const said = ({ found: { length: count }, error, whole, read, lost, meanings }, shown) => {
    if (error) return "This message stands nowhere in the book. What is behind most of them:";
    const instead = read.length ? `Read as ${listed(read.map(([, other]) => `“${other}”`))}. ` : "";
    const many = count ? `${shown < count ? `Best ${shown}` : count} ${count === 1 ? "result" : "results"}` : "";
    const entry = `he glossary’s ${meanings.length > 1 ? "entries" : "entry"}`;
    const told = meanings.length ? (count ? `, and t${entry}` : `T${entry}`) : "";
    const part = lost.length ? ` (nowhere in the book: ${listed(lost.map((word) => `“${word}”`))})` : " with some of these words";
    return `${instead}${many}${count && !whole ? part : ""}${told}.`;
  };
  let due = /** @type {any} */ (0);
  const now = () => {
    if (due) show();
    clearTimeout(due);
    due = 0;
  };
  part.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[/** @type {string} */ (event.key)];
    const onRow = rows().includes(event.target);
    if (step && (event.target === field || onRow)) {
      now();
      event.preventDefault();
      field.focus();
      const least = part.matches(".attn-hit") ? 0 : -1;
      light(Math.max(least, Math.min(lit + step, rows().length - 1)));
      rows()[lit]?.scrollIntoView({ block: "nearest" });
    } else if (onRow && (event.key === "Backspace" || (event.key.length === 1 && event.key !== " "))) {
      field.focus(); // who writes on, writes in the field
    }
  });
  // Who came to a row by Tab has chosen it.
  options.addEventListener("focusin", (event) => light(rows().findIndex((row) => row === event.target)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    now();
    rows()[lit]?.click();
  });
  field.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(now, PAUSE);
  });
  show();
}

/** The book's code is loaded when somebody first asks for some. @type {Promise<void> | undefined} */
let loading;
/** @param {Book} book */
const code = (book) => (loading ??= new Promise((done) => {
  const script = Object.assign(document.createElement("script"), { src: `${ROOT}_static/${book.coded}` });
  script.addEventListener("load", () => done(book.takeUpCode(/** @type {any} */ (globalThis).attnlabCode)));
  document.head.append(script);
}));

async function start() {
  const given = /** @type {any} */ (globalThis).attnlabSections;
  if (!given) return;
  const book = await Book.inTurns(given);
  const dialog = /** @type {HTMLDialogElement | null} */ (document.querySelector("#pst-search-dialog"));
  if (dialog) {
    mount(book, dialog, { most: 8, follow: () => {} });
    dialog.append(make("p", "attn-keys", "↑ ↓ to choose, Enter to open"));
    // A place on the same page: the dialog would stand before it.
    dialog.addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest("a") && !event.ctrlKey && !event.metaKey) dialog.close();
    });
  }
  const page = document.querySelector("#attn-search");
  if (!page) return;
  const field = /** @type {HTMLInputElement} */ (page.querySelector("input"));
  field.value ||= new URLSearchParams(location.search).get("q") ?? "";
  mount(book, page, {
    most: 20,
    follow: (question) => {
      const address = new URL(location.href);
      address.searchParams.set("q", question);
      // From the disk some browsers refuse this; the search works without.
      try {
        history.replaceState(null, "", address);
      } catch {}
    },
  });
  if (!dialog?.open) field.focus();
}

start();
