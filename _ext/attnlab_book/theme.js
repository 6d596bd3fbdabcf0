// @ts-check
// What moves around the text: colours, search, sidebars, the mark in the contents. The theme's own scripts bring
// Bootstrap and measure the whole page: 30 KB, and half a second on a slow phone.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (/** @type {string} */ selector, /** @type {ParentNode} */ within = document) =>
    /** @type {HTMLElement[]} */ ([...within.querySelectorAll(selector)]);
  const one = (/** @type {string} */ selector) => all(selector)[0];

  /** What the button of colours goes through; the script in the page's head sets the first. */
  const prepareColours = () => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => {
      const mode = root.dataset.mode;
      const theme = mode === "auto" ? (dark.matches ? "dark" : "light") : mode;
      if (root.dataset.theme !== theme) root.dataset.theme = theme;
    };
    dark.addEventListener("change", paint);
    for (const button of all(".theme-switch-button")) {
      button.addEventListener("click", () => {
        const modes = dark.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
        root.dataset.mode = modes[(modes.indexOf(root.dataset.mode ?? "auto") + 1) % 3];
        try {
          localStorage.setItem("mode", root.dataset.mode);
        } catch {} // a page that may not store keeps its colours until it is left
        paint();
      });
    }
  };

  /** A dialog that a click beside it closes. */
  const closesBeside = (/** @type {HTMLDialogElement} */ dialog) =>
    dialog.addEventListener("click", ({ target, clientX: x, clientY: y }) => {
      const { left, right, top, bottom } = dialog.getBoundingClientRect();
      if (target === dialog && (x < left || x > right || y < top || y > bottom)) dialog.close();
    });

  const prepareSearch = () => {
    const dialog = document.querySelector("#pst-search-dialog");
    if (!(dialog instanceof HTMLDialogElement)) return;
    const own = one("#attn-search input"); // the search's own page
    const ask = () => (own ? own.focus() : dialog.open ? dialog.close() : dialog.showModal());
    closesBeside(dialog);
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault(); // the field would be emptied first, and the dialog stay
      dialog.close();
    });
    // What was asked last is there again, and gives way to what is written.
    new MutationObserver(() => dialog.open && /** @type {HTMLInputElement} */ (one("#pst-search-dialog input")).select()).observe(dialog, { attributeFilter: ["open"] });
    for (const button of all(".search-button__button")) button.addEventListener("click", ask);
    const mac = /Mac|iPhone|iPad/.test(navigator.platform);
    if (mac) for (const key of all(".kbd-shortcut__modifier")) key.textContent = key.textContent === "Ctrl" ? "⌘" : key.textContent;
    addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "k" || event.shiftKey || event.altKey || (mac ? !event.metaKey || event.ctrlKey : event.metaKey || !event.ctrlKey)) return;
      event.preventDefault();
      ask();
    }, true);
  };

  /** What stands beside the text on a wide screen stands in a dialog on a narrow one. */
  const prepareSidebars = () => {
    const move = (/** @type {Element} */ from, /** @type {Element} */ to) => {
      to.append(...from.childNodes);
      to.className = from.className;
      from.removeAttribute("class");
    };
    for (const name of ["primary", "secondary"]) {
      const [button, bar, dialog] = [one(`.${name}-toggle`), one(`#pst-${name}-sidebar`), one(`#pst-${name}-sidebar-modal`)];
      if (!button || !bar || !(dialog instanceof HTMLDialogElement)) continue;
      button.addEventListener("click", () => {
        if (name === "primary" && matchMedia("(min-width: 992px)").matches) {
          bar.classList.toggle("pst-sidebar-hidden");
          return;
        }
        move(bar, dialog);
        dialog.showModal();
        if (name === "primary") showPage(dialog);
        else mark();
      });
      closesBeside(dialog);
      dialog.addEventListener("close", () => {
        move(dialog, bar);
        button.focus({ preventScroll: true });
      });
      // A link into the page that stands below leads out of the dialog, too.
      dialog.addEventListener("click", ({ target }) => {
        if (target instanceof Element && target.closest("a[href^='#']")) dialog.close();
      });
    }
  };

  /** Scroll the list of pages to the one that is open. */
  const showPage = (/** @type {HTMLElement} */ bar) => {
    const here = all(".bd-docs-nav .active", bar).at(-1);
    if (!here || !bar.clientHeight) return;
    const below = here.getBoundingClientRect().top - bar.getBoundingClientRect().top;
    if (below > bar.clientHeight / 2) bar.scrollTop += below - bar.clientHeight / 4;
  };

  /** The menu of downloads. */
  const prepareMenus = () => {
    for (const button of all('[data-bs-toggle="dropdown"]')) {
      const menu = button.nextElementSibling;
      if (!(menu instanceof HTMLElement)) continue;
      menu.dataset.bsPopper = "static"; // where the theme's style sheet puts it without help
      const show = (/** @type {boolean} */ open) => {
        menu.classList.toggle("show", open);
        button.setAttribute("aria-expanded", String(open));
      };
      button.addEventListener("click", () => show(!menu.classList.contains("show")));
      addEventListener("click", ({ target }) => target instanceof Node && !button.contains(target) && show(false));
      button.parentElement?.addEventListener("keydown", ({ key }) => {
        if (key !== "Escape" || !menu.classList.contains("show")) return;
        show(false);
        button.focus();
      });
    }
  };

  /** Mark, in the page's contents, the section that stands at a third of the screen. */
  let mark = () => {};
  const prepareContents = () => {
    const entries = all("#pst-page-toc-nav a[href^='#']").map((link) => {
      const section = document.getElementById(decodeURIComponent(link.getAttribute("href")?.slice(1) ?? ""));
      link.classList.toggle("has-figure", !!section?.querySelector(":scope > .cell.has-figure"));
      return { link, section };
    });
    let marked = /** @type {HTMLElement | undefined} */ (undefined);
    mark = () => {
      const line = innerHeight / 3;
      const atEnd = scrollY + innerHeight > root.scrollHeight - 2;
      const above = entries.filter(({ section }) => section && (atEnd || section.getBoundingClientRect().top <= line));
      // At the page's end, where no more can come up to the line, what was asked for is here as well.
      const wanted = atEnd && entries.find(({ section }) => section && `#${section.id}` === location.hash && section.getBoundingClientRect().top >= 0);
      const now = (wanted || above.at(-1))?.link;
      if (now === marked) return;
      for (const { link } of entries) {
        link.classList.toggle("active", link === now);
        if (link === now) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      for (const entry of all("#pst-page-toc-nav .toc-entry")) entry.classList.toggle("active", !!now && entry.contains(now));
      marked = now;
    };
    // Where the contents stand in the room that figures take, too, they are seen as long as none of them passes.
    const bar = one("#pst-secondary-sidebar");
    const wide = all(".bd-article :is(figure, .attn-emblem, .has-figure, .attn-cards, .attn-paths)");
    const giveWay = () => {
      const { left, top, bottom } = bar.getBoundingClientRect();
      const passes = (/** @type {DOMRect} */ one) => one.right > left && one.bottom > top - 16 && one.top < bottom + 16;
      document.body.classList.toggle("has-margin", !wide.some((one) => passes(one.getBoundingClientRect())));
    };
    let asked = false;
    const soon = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        mark();
        if (bar) giveWay();
        document.body.classList.toggle("scrolled", scrollY > 0); // a shadow below the bar
      });
    };
    for (const event of ["scroll", "resize"]) addEventListener(event, soon, { passive: true });
    document.addEventListener("attn-whole", soon); // measured before, it would lay out what waits
  };

  const start = () => {
    prepareColours();
    prepareSearch();
    prepareSidebars();
    prepareMenus();
    prepareContents();
    const bar = one("#pst-primary-sidebar");
    if (bar) requestAnimationFrame(() => showPage(bar));
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
