// @ts-check
// What the theme's templates cannot mend, because it depends on the finished page.
(() => {
  "use strict";

  /** Anything that may be wider than the page and then scrolls inside itself. */
  const SCROLLERS =
    "pre, div.math, .cell_output .output, figure.attnlab-plot, .pst-scrollable-table-container";

  /** A region that scrolls must be reachable with the keyboard; one that does not must not stop it. */
  const markScrollers = (/** @type {ParentNode} */ within = document) => {
    // What waits in a fold is measured when that opens: before, each would be laid out for it alone.
    const shown = [...within.querySelectorAll(SCROLLERS)].filter((element) => !element.closest("details:not([open])"));
    const wide = shown.map((element) => /** @type {const} */ ([element, element.scrollWidth > element.clientWidth + 1]));
    for (const [element, scrolls] of wide) { // all is measured before anything is changed
      if (!(element instanceof HTMLElement)) continue;
      if (scrolls) {
        element.tabIndex = 0;
        if (!element.matches("[role], pre")) {
          element.setAttribute("role", "group");
          element.setAttribute("aria-label", "wide content, scrolls sideways");
          element.dataset.attnNamed = "";
        }
      } else if (element.dataset.attnNamed !== undefined || element.matches("pre")) {
        element.removeAttribute("tabindex");
        if (element.dataset.attnNamed !== undefined) {
          element.removeAttribute("role");
          element.removeAttribute("aria-label");
          delete element.dataset.attnNamed;
        }
      }
    }
  };

  /** The theme draws carets and icon buttons without a name. */
  const nameControls = () => {
    for (const summary of document.querySelectorAll("nav.bd-links summary")) {
      const link = summary.parentElement?.parentElement?.querySelector("a");
      summary.setAttribute("aria-label", `Pages of ${link?.textContent?.trim() ?? "this part"}`);
    }
    for (const control of document.querySelectorAll("button[title], a.btn[title]")) {
      if (!control.textContent?.trim() && !control.hasAttribute("aria-label")) {
        control.setAttribute("aria-label", control.getAttribute("title") ?? "");
      }
    }
    for (const icon of document.querySelectorAll("i[class*='fa-'], span[class*='fa-']")) {
      icon.setAttribute("aria-hidden", "true");
    }
  };

  const sections = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".bd-article section section")]);
  /** Sections below the screen are laid out one at a time, when the page stands; all at once if a link leads to one. */
  const unfold = (/** @type {boolean} */ atOnce, whole = () => {}) => {
    const folded = sections();
    const next = () => {
      const section = folded.shift();
      if (!section) return whole();
      section.style.contentVisibility = "visible";
      section.getBoundingClientRect(); // its layout, now and alone
      if (atOnce) next();
      else setTimeout(next);
    };
    next();
  };
  const markWhole = () => {
    document.documentElement.dataset.attnWhole = "";
    document.dispatchEvent(new Event("attn-whole"));
    markScrollers();
  };
  /** A dialog makes the page behind it inert, and the browser then styles all of it anew: a third of a second on a slow
   * phone. What is a screen away waits, as high as it was, until the dialog is closed. */
  const foldBehind = () => {
    document.addEventListener("beforetoggle", ({ target, newState }) => {
      if (!(target instanceof HTMLDialogElement) || newState !== "open") return;
      const far = sections().filter((section) => {
        if (section.style.contentVisibility !== "visible") return false;
        const { top, bottom } = section.getBoundingClientRect();
        return bottom < -innerHeight || top > 2 * innerHeight;
      });
      for (const section of far) section.style.contentVisibility = ""; // all is measured before anything is changed
    }, true);
    document.addEventListener("toggle", ({ target, newState }) => target instanceof HTMLDialogElement && newState === "closed" && unfold(false), true);
  };

  const start = () => {
    nameControls();
    if (location.hash) unfold(true, markWhole);
    foldBehind();
    prepareSearch();
    document.addEventListener("toggle", ({ target }) => target instanceof HTMLDetailsElement && target.open && markScrollers(target), true);
    let waiting = 0;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => markScrollers(), 150);
    });
  };
  /** Milliseconds after a page stands in which it belongs to its figures. */
  const AHEAD = 3000;
  /** The search: what it looks through is loaded when the reader opens it, and on its own page. */
  const prepareSearch = () => {
    const dialog = document.querySelector("#pst-search-dialog");
    if (!(dialog instanceof HTMLDialogElement)) return;
    const root = document.documentElement.dataset.content_root ?? "./";
    const addresses = (/** @type {any} */ (window).attnlabSearch ?? []).map((/** @type {string} */ name) => `${root}_static/${name}`);
    let asked = false;
    const load = () => {
      if (asked) return;
      asked = true;
      for (const src of addresses) {
        // In this order.
        document.head.append(Object.assign(document.createElement("script"), { src, async: false }));
      }
    };
    // When the page stands and its figures have loaded, it is fetched, so that it opens at once; nothing of it runs before.
    const fetchAhead = () => {
      const spare = !(/** @type {any} */ (navigator).connection?.saveData);
      if (asked || !spare || location.protocol === "file:") return;
      for (const href of addresses) document.head.append(Object.assign(document.createElement("link"), { rel: "prefetch", as: "script", href }));
    };
    document.addEventListener("attn-whole", () => setTimeout(fetchAhead, AHEAD));
    new MutationObserver(load).observe(dialog, { attributeFilter: ["open"] });
    if (document.querySelector("#attn-search")) load();
    dialog.querySelector(".attn-close")?.addEventListener("click", () => dialog.close());
    addEventListener("keydown", (event) => {
      const typing = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      dialog.showModal();
    });
  };

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
  // Widths are final when fonts are there.
  addEventListener("load", () => document.fonts.ready.then(() => {
    nameControls();
    unfold(Boolean(location.hash), markWhole);
  }));
  // On paper folds are open. What the reader should first try alone stands at the end of the page.
  const LATER = ".predict, .quiz, details:is(.saw, .hint, .answer), .solution";
  /** @type {(() => void)[]} */
  let undo = [];
  const open = (/** @type {Element} */ within, /** @type {string} */ which) => {
    for (const details of within.querySelectorAll(`details:not([open])${which}`)) {
      details.setAttribute("open", "");
      undo.push(() => details.removeAttribute("open"));
    }
  };
  const put = (/** @type {string} */ markup, /** @type {(made: Element) => void} */ where) => {
    const made = document.createElement("template");
    made.innerHTML = markup;
    const element = /** @type {Element} */ (made.content.firstElementChild);
    where(element);
    undo.push(() => element.remove());
    return element;
  };
  addEventListener("beforeprint", () => {
    const article = document.querySelector("article.bd-article");
    if (!article || undo.length) return;
    open(article, ":not(.answer, .saw, .hint, .hide, figure details:not(:has(table)))");
    /** @type {Element | undefined} */
    let heading, answers, group;
    for (const element of article.querySelectorAll(`h2, h3, .exercise > .admonition-title, ${LATER}`)) {
      if (!element.matches(LATER)) [heading, group] = [element, undefined];
      else if (!element.parentElement?.closest(LATER)) {
        answers ??= put('<section class="attn-answers"><h2 id="printed-answers">Answers</h2></section>', (made) => (article.querySelector("section") ?? article).append(made));
        if (!group) {
          const number = answers.children.length;
          group = put(`<section><h3 id="printed-answer-${number}"><a href="#printed-asked-${number}"></a></h3></section>`, (made) => answers?.append(made));
          const name = /** @type {Element} */ (heading?.cloneNode(true) ?? document.createElement("h2"));
          name.querySelector(".headerlink")?.remove();
          /** @type {Element} */ (group.querySelector("a")).textContent = name.textContent?.trim() ?? "";
          const kept = heading?.matches("h2, h3") ? "Answer" : "Hints and solution";
          put(`<p class="attn-at-end" id="printed-asked-${number}"><a href="#printed-answer-${number}">${kept}: at the end</a></p>`, (made) => element.after(made));
        }
        const copy = /** @type {Element} */ (element.cloneNode(true));
        for (const named of [copy, ...copy.querySelectorAll("[id]")]) named.removeAttribute("id");
        group.append(copy);
        if (copy.matches("details")) copy.setAttribute("open", "");
        open(copy, ":not(.hide)");
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const back of undo) back();
    undo = [];
  });
})();
