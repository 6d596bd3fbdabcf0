// @ts-check
// Questions that are answered before they are explained: a quiz's, and those that stand before a figure. Without
// this script each answer is a fold. What was answered stays in this browser; a file takes it along, the one in which
// notebooks keep what was solved (attnbook.checks.progress).
(() => {
  "use strict";

  const KEPT = "attnlab-answers";
  const SOLVED = "attnlab-exercises";
  const FILE = "attnlab-progress.json";
  /** Figures whose first state is the answer wait for the reader's own; the others begin with what the question starts from. */
  const TELLING = ["anatomy", "inside"];

  /** @typedef {{ total: number, given: Record<string, [choice: number, right: boolean]> }} Answers of one page */
  /** @typedef {Record<string, { solved: boolean, tries: number }>} Exercises */
  /** @param {any} pages @returns {Record<string, Answers>} the pages whose answers can be read */
  const readable = (pages) =>
    Object.fromEntries(Object.entries(pages ?? {}).filter(([, answers]) => typeof answers?.given === "object" && answers.given));
  /** @type {Record<string, Answers>} */
  let kept = {};
  try {
    kept = readable(JSON.parse(localStorage.getItem(KEPT) ?? "{}"));
  } catch {
    // A browser that keeps nothing, or what is kept can't be read: begin anew.
  }
  const store = (/** @type {string} */ key, /** @type {string | null} */ value) => {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // Then it holds until the page is left.
    }
  };
  const stored = (/** @type {string} */ key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const save = () => store(KEPT, Object.keys(kept).length ? JSON.stringify(kept) : null);

  /** @param {string} address */
  const nameOf = (address) => new URL(address, location.href).pathname.split("/").pop()?.replace(/\.html$/, "") ?? "";
  const page = nameOf(location.href);
  let total = 0;

  /**
   * @template {keyof HTMLElementTagNameMap} T
   * @param {T} tag
   * @param {Record<string, string>} attributes
   * @param {(Node | string)[]} children
   */
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  /** A name that stays when other questions come or go. @param {string} text */
  const short = (text) => {
    let sum = 0;
    for (const letter of text) sum = (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0;
    return (sum >>> 0).toString(36);
  };

  /** The answers that stand one below the other are those of one question. */
  const questions = () => {
    /** @type {HTMLDetailsElement[][]} */
    const found = [];
    for (const answer of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("article details.answer"))) {
      const before = answer.previousElementSibling;
      if (before?.matches("details.answer")) found.at(-1)?.push(answer);
      else found.push([answer]);
    }
    return found.filter((answers) => answers.length > 1);
  };

  /** @param {HTMLDetailsElement[]} answers */
  const ask = (answers) => {
    const id = short(answers.map((answer) => answer.querySelector("summary")?.textContent).join("|"));
    const box = answers[0].closest(".predict");
    const figure = box && figureAfter(box);
    const right = answers.findIndex((answer) => /^\s*Yes\b/.test(textBelow(answer)));
    const said = make("p", { class: "answer-said", role: "status" });
    const show = make("button", { type: "button", class: "answer-show" }, "Show the answer");
    show.addEventListener("click", () => {
      reveal(kept[page].given[id][0]);
      for (const answer of answers) answer.open = answer.matches(".chosen, .right");
    });
    answers.at(-1)?.after(said);
    const open = figure ? cover(figure, box) : () => {};

    const reveal = (/** @type {number} */ choice) => {
      for (const answer of answers) delete answer.dataset.open;
      answers.forEach((answer, i) => answer.classList.add(i === right ? "right" : "wrong"));
      said.replaceChildren(choice === right ? "You were right." : "You chose another one than that with the ✓.");
    };
    const mark = (/** @type {number} */ choice) => {
      answers[choice].classList.add("chosen");
      open();
      // A prediction is compared with what one sees; only then it is explained.
      if (box) said.replaceChildren(figure ? "Your answer is noted. Now look. " : "Your answer is noted. ", show);
      else reveal(choice);
    };

    for (const [i, answer] of answers.entries()) {
      answer.dataset.open = "";
      answer.querySelector("summary")?.addEventListener("click", (event) => {
        if (kept[page].given[id]) {
          // To look below an answer is to ask for the answer.
          reveal(kept[page].given[id][0]);
          return;
        }
        event.preventDefault();
        kept[page].given[id] = [i, i === right];
        save();
        mark(i);
        answer.open = !box;
        progress();
      });
    }
    const before = kept[page].given[id];
    if (before && answers[before[0]]) mark(before[0]);
    return id;
  };

  /** @param {HTMLDetailsElement} answer */
  const textBelow = (answer) => [...answer.children].slice(1).map((child) => child.textContent).join(" ");

  /** The figure that a box speaks of, if it comes before anything else does. @param {Element} box */
  const figureAfter = (box) => {
    const all = [...document.querySelectorAll("article :is(h2, .predict, figure[data-attnlab])")];
    const next = all[all.indexOf(box) + 1];
    return next?.matches("figure") ? /** @type {HTMLElement} */ (next) : undefined;
  };

  /**
   * Let a figure wait that would tell: it says itself which of its parts do. Who presses it is led to its question.
   * @param {HTMLElement} figure
   * @param {Element} box
   * @returns {() => void} what lets it go
   */
  const cover = (figure, box) => {
    const name = figure.dataset.attnlab ?? "";
    const linked = [...new URLSearchParams(location.search).keys()].some((key) => key === name || key.startsWith(`${name}-`));
    // The script of a figure replaces what is in it, and what is inert hears nothing: what holds it does.
    const bed = figure.parentElement;
    if (!bed || linked || !TELLING.includes(name)) return () => {};
    const lead = () => {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      box.scrollIntoView({ block: "nearest", behavior: still ? "instant" : "smooth" });
      box.querySelector("summary")?.focus({ preventScroll: true });
      box.classList.remove("is-asked");
      void (/** @type {HTMLElement} */ (box).offsetWidth); // or a second press would not begin its ring anew
      box.classList.add("is-asked");
    };
    const open = () => {
      figure.inert = false;
      figure.classList.add("is-open");
      line.remove();
      box.classList.remove("is-asked");
      bed.classList.remove("attnlab-bed");
      bed.removeEventListener("click", lead);
    };
    const line = make("div", { class: "attnlab-cover" }, make("p", {}, make("button", { type: "button" }, "Choose an answer above"), ", or ", button("just open it", open)));
    bed.prepend(line);
    bed.classList.add("attnlab-bed");
    bed.addEventListener("click", lead);
    figure.classList.add("attnlab-covered");
    figure.inert = true;
    figure.addEventListener("attnlab-asked", open, { once: true }); // a link of the page asks for a state of it
    return open;
  };

  /** What was answered, beside each chapter in the sidebar, and the one button that forgets it. */
  const progress = () => {
    const list = document.querySelector("nav.bd-links");
    if (!list) return;
    for (const old of list.querySelectorAll(".attnlab-progress")) old.remove();
    for (const link of list.querySelectorAll("a.reference")) {
      const answers = kept[nameOf(/** @type {HTMLAnchorElement} */ (link).href)];
      const given = Object.values(answers?.given ?? {});
      if (!given.length) continue;
      const words = `${given.length} of ${answers.total} questions answered, ${given.filter(([, right]) => right).length} right`;
      link.append(make("span", { class: "attnlab-progress", title: words }, make("span", { "aria-hidden": "true" }, `${given.length}/${answers.total}`), make("span", { class: "visually-hidden" }, `, ${words}`)));
    }
    let tools = list.querySelector(".attnlab-forget");
    if (!tools) list.append((tools = make("p", { class: "attnlab-forget" })));
    const anything = Object.values(kept).some(({ given }) => Object.keys(given).length);
    const solved = Object.values(exercises()).filter((one) => one.solved).length;
    tools.replaceChildren(...(solved ? [make("span", {}, `${solved} exercises solved in notebooks. `)] : []), ...(anything || solved ? [forgetting(list, tools), saving()] : []), opening(tools));
  };

  /** @returns {Exercises} what a notebook's file said */
  const exercises = () => {
    try {
      return JSON.parse(stored(SOLVED) ?? "{}") ?? {};
    } catch {
      return {};
    }
  };

  /** @param {string} text @param {() => void} act */
  const button = (text, act) => {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  };

  /** @param {Element} list @param {Element} tools */
  const forgetting = (list, tools) =>
    button("Forget my answers", () => {
      const before = [KEPT, SOLVED].map((key) => /** @type {const} */ ([key, stored(key)]));
      kept = {};
      for (const [key] of before) store(key, null);
      const undo = button("Undo", () => {
        for (const [key, value] of before) store(key, value);
        location.reload();
      });
      const again = button("Ask me again", () => location.reload());
      for (const old of list.querySelectorAll(".attnlab-progress")) old.remove();
      tools.replaceChildren(make("span", { role: "status" }, "Forgotten. "), undo, again);
      kept[page] = { total, given: {} };
      again.focus();
    });

  const saving = () =>
    button("Save my progress", () => {
      const text = `${JSON.stringify({ exercises: exercises(), pages: kept }, null, 1)}\n`;
      const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      make("a", { href: address, download: FILE }).click();
      URL.revokeObjectURL(address);
    });

  /** What a file says is added to what is here; an answer that was given here stays. @param {Element} tools */
  const opening = (tools) => {
    const field = /** @type {HTMLInputElement} */ (make("input", { type: "file", accept: ".json", hidden: "", "aria-label": "A file of progress" }));
    field.addEventListener("change", async () => {
      const file = field.files?.[0];
      if (!file) return;
      try {
        const held = JSON.parse(await file.text());
        if (typeof held?.exercises !== "object" && typeof held?.pages !== "object") throw new TypeError(FILE);
        for (const [name, answers] of Object.entries(readable(held.pages)))
          kept[name] = { total: answers.total, ...kept[name], given: { ...answers.given, ...kept[name]?.given } };
        save();
        store(SOLVED, JSON.stringify(either(exercises(), held.exercises ?? {})));
        location.reload();
      } catch {
        tools.append(make("span", { role: "status" }, `${file.name} holds no progress. Choose ${FILE}: this page or a notebook has written it.`));
      }
    });
    const open = button("Open my progress", () => field.click());
    open.append(field);
    return open;
  };

  /** @param {Exercises} one @param {Exercises} other */
  const either = (one, other) => {
    const all = { ...one };
    for (const [name, { solved, tries }] of Object.entries(other))
      if (!all[name]?.solved) all[name] = { solved: Boolean(solved), tries: Number(tries) || 0 };
    return all;
  };

  const start = () => {
    kept[page] ??= { total, given: {} };
    const asked = questions().map(ask);
    total = asked.length;
    if (total) {
      // What is no longer asked does not count.
      const given = Object.entries(kept[page].given).filter(([id]) => asked.includes(id));
      kept[page] = { total, given: Object.fromEntries(given) };
    } else delete kept[page];
    progress();
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
