// What every figure has around it: style, toolbar, a line that says the state in words, and a place for errors.
import { h, onResize } from "./dom.js";
import css from "./style.css";

/** What copied code says first; `_ext/attnlab_book/licences` says the same of cells that are there to be copied. */
const SIGNED = "# From the book I Saw a Saw, by the attnlab authors. MIT licence.\n";

/**
 * A figure's model: an anywidget model in a live kernel, plain values in the page.
 * @typedef {{ get(key: string): any, set(key: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off?(event: string, callback: () => void): void }} Model
 * @typedef {{ base?: string, link?: (state: Record<string, any>) => string, shared?: string | null,
 *   follow?: (open: (state: string) => void) => void }} Place where the figure stands; only the page has an address to
 *   link to, files to load, a state that came with its own address, and links that ask for another state
 * @typedef {{ model: Model, body: HTMLElement, say: (words: string, seen?: boolean) => void, set: (changes: Record<string, any>) => void,
 *   keep: (keys: string[]) => void, signal: AbortSignal, place: Place }} Context `say` writes the line of state, only heard where the
 *   figure shows the same; `keep` comes before a change: Undo brings back what these keys hold now
 * @typedef {{ update(): void, pytorch(): string, svg(): string, sent?: () => [Record<string, any>, string] | undefined }} Parts
 *   `sent`: what a link brings beside the state, and what is said when it is copied
 * @typedef {{ name: string, title: string, keys: string[], css?: string, answer?: string, undo?: "steps" | "nothing",
 *   setup(context: Context): Parts | Promise<Parts> }} Definition `css`: what the figure needs beside what all have; `answer`: selector of what is
 *   hidden while the page waits for what one expects, where the first state tells it; else the figure stays to be seen;
 *   `undo`: after a Reset any figure can be brought back until it is changed again; with "steps" it calls `keep`, and
 *   Undo goes on from there; with "nothing" its state is not all there is to it
 */

/**
 * Make a figure from its definition. `render` is what anywidget calls, and what the page's host calls.
 * @param {Definition} definition
 */
export function figure(definition) {
  return {
    name: definition.name,
    keys: definition.keys,
    /** @param {{ model: Model, el: HTMLElement, signal?: AbortSignal, place?: Place }} given */
    async render({ model, el, signal, place = {} }) {
      const ended = new AbortController();
      signal?.addEventListener("abort", () => ended.abort());
      style(el, definition);
      // Drawn before it stands in a page, or moved to another one: its style comes along.
      onResize(el, ended.signal, () => style(el, definition));
      const current = () => Object.fromEntries(definition.keys.map((key) => [key, model.get(key)]));
      // What the page or the cell says, whatever a link makes of it: Reset leads back here.
      const initial = structuredClone(current());
      const body = h("div", { class: "attnlab-body" });
      const status = h("p", { class: "attnlab-status", role: "status", "data-part": "status" });
      const problem = h("p", { class: "attnlab-error", role: "alert", "data-part": "error", hidden: true });
      const bar = h("div", { class: "attnlab-bar", role: "group", "aria-label": `${definition.title}: actions`, hidden: true });
      const root = h(
        "div",
        // JupyterLab would take keys for its own (d twice deletes the cell) unless what has the focus says not to.
        { class: "attnlab-root", "data-figure": definition.name, on: { focusin: leaveKeys } },
        body,
        problem,
        status,
        bar,
      );
      el.replaceChildren(root);
      hold(root, ended.signal);

      /** @type {Parts | undefined} */
      let parts;
      const guarded = (/** @type {() => void} */ action) => {
        try {
          action();
          problem.hidden = true;
        } catch (error) {
          console.warn("attnlab figure:", error);
          problem.textContent = `This figure could not be drawn: ${words(error)}`;
          problem.hidden = false;
        }
      };
      const update = () => guarded(() => parts?.update());
      const set = (/** @type {Record<string, any>} */ changes) => {
        put(changes);
        model.save_changes();
        update();
      };
      /** @type {Record<string, any>[]} what Undo brings back, the last one first */
      let past = [];
      const now = () => JSON.stringify(current());
      const keep = (/** @type {string[]} */ keys) => past.push(structuredClone(Object.fromEntries(keys.map((key) => [key, model.get(key)]))));
      const offer = () => (undo.hidden = !past.length || definition.undo === "nothing");
      const change = (/** @type {Record<string, any>} */ changes) => {
        if (definition.undo !== "steps") past = [];
        set(changes);
        offer();
      };
      const undo = button("Undo", "undo", () => {
        // A gesture may have changed nothing: then the step before it is meant.
        for (const before = now(); past.length && now() === before; ) set(past.pop() ?? {});
        if (offer()) reset.focus();
        return "";
      });
      undo.hidden = true;
      const reset = button("Reset", "reset", () => {
        if (now() !== JSON.stringify(initial)) keep(definition.keys);
        set(structuredClone(initial));
        offer();
        return "Reset.";
      });
      const say = (/** @type {string} */ words, seen = true) => {
        status.classList.toggle("is-heard", !seen);
        if (status.textContent !== words) status.textContent = words;
      };
      const put = (/** @type {Record<string, any>} */ state) => Object.entries(state).forEach(([key, value]) => model.set(key, value));
      const begin = async () => {
        body.replaceChildren();
        parts = await definition.setup({ model, body, say, set: change, keep, signal: ended.signal, place });
        parts.update();
        // What ends a figure stands in the line of its buttons.
        body.after(body.querySelector(":scope > :is(details, .attnlab-row.attnlab-folds):last-child") ?? "");
      };
      const misled = (/** @type {unknown} */ why) => {
        console.warn("attnlab figure:", why);
        problem.textContent = `The link asks for something else than this figure can show: ${words(why)} It stands here as the page has it.`;
        problem.hidden = false;
      };
      let refused;
      try {
        if (place.shared) put(shared(place.shared, initial));
        await begin();
      } catch (error) {
        refused = error;
      }
      if (refused && place.shared) {
        const why = refused;
        try {
          put(structuredClone(initial));
          await begin();
          refused = undefined;
          misled(why);
        } catch (error) {
          refused = error;
        }
      }
      if (refused) {
        guarded(() => {
          throw refused;
        });
        return () => ended.abort();
      }
      // A link of the page's own text: what the figure has done so far need not be lost to a reload.
      place.follow?.((text) => {
        past = [];
        offer();
        try {
          put({ ...structuredClone(initial), ...shared(text, initial) });
          parts?.update();
          problem.hidden = true;
        } catch (why) {
          put(structuredClone(initial));
          update();
          misled(why);
        }
      });
      bar.hidden = false;
      bar.append(
        reset,
        undo,
        menu(
          ended.signal,
          place.link ? button("Copy link", "link", link) : "",
          button("Copy as PyTorch", "pytorch", () => copy(SIGNED + /** @type {Parts} */ (parts).pytorch())),
          button("Save SVG", "svg", () => save(/** @type {Parts} */ (parts).svg(), `attnlab-${definition.name}.svg`)),
        ),
      );
      for (const key of definition.keys) {
        model.on(`change:${key}`, update);
        ended.signal.addEventListener("abort", () => model.off?.(`change:${key}`, update));
      }
      return () => ended.abort();

      /**
       * @param {string} text
       * @param {string} part
       * @param {() => string | Promise<string>} action returns what to say when done; nothing, if the figure has said it
       */
      function button(text, part, action) {
        const el = h("button", { type: "button", "data-part": part }, text);
        el.addEventListener("click", async () => {
          try {
            const done = await action();
            if (done) say(done);
          } catch (error) {
            say(`That did not work: ${words(error)}`);
          }
        });
        return el;
      }

      function link() {
        const [more, said] = parts?.sent?.() ?? [];
        return copy(/** @type {any} */ (place.link)({ ...current(), ...more }), said);
      }

      /** @param {string} text */
      async function copy(text, said = "Copied.") {
        root.querySelector(".attnlab-copied")?.remove();
        try {
          await navigator.clipboard.writeText(text);
          return said;
        } catch {
          // No clipboard here (file://, some notebooks): show the text, selected, to copy by hand.
          const area = h("textarea", {
            class: "attnlab-copied",
            readonly: true,
            rows: Math.min(text.split("\n").length, 12),
            "aria-label": "Text to copy",
            "data-part": "copied",
          });
          area.value = text;
          bar.after(area);
          area.focus();
          area.select();
          return "It is selected below: copy it with your keyboard.";
        }
      }
    },
  };
}

/** @param {unknown} error */
const words = (error) => (error instanceof Error ? error.message : String(error));

/** What a value is, in words. @param {any} value */
const kind = (value) => (Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`);

/**
 * Read the state that came with a link. What another edition of the figure knew and this one doesn't is passed over.
 * @param {string} text
 * @param {Record<string, any>} initial the figure's own state
 */
function shared(text, initial) {
  let state;
  try {
    state = JSON.parse(text);
  } catch {
    // as if it were empty
  }
  if (!state || kind(state) !== "an object") throw new Error("its state can't be read.");
  const known = Object.entries(state).filter(([key]) => key in initial);
  for (const [key, value] of known) {
    // Where nothing may stand, the figure itself says what else may.
    if (value !== null && initial[key] !== null && kind(value) !== kind(initial[key])) throw new Error(`${key} should be ${kind(initial[key])}, and is ${kind(value)}.`);
  }
  return Object.fromEntries(known);
}

/**
 * What one needs now and then, behind one button. It closes when its work is done, or when one turns elsewhere.
 * @param {AbortSignal} signal
 * @param {(Node | string)[]} entries
 */
function menu(signal, ...entries) {
  const sign = h("summary", { "aria-label": "More: link, code, drawing", title: "More" }, "⋯");
  const list = h("div", { class: "attnlab-menu-list" }, ...entries);
  const fold = /** @type {HTMLDetailsElement} */ (h("details", { class: "attnlab-menu", "data-part": "menu" }, sign, list));
  const close = () => (fold.open = false);
  list.addEventListener("click", close);
  fold.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !fold.open) return;
    close();
    sign.focus();
  });
  document.addEventListener("pointerdown", (event) => event.composedPath().includes(fold) || close(), { signal });
  fold.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !fold.contains(/** @type {Node} */ (relatedTarget)) && close());
  return fold;
}

/**
 * @param {string} svg
 * @param {string} name
 */
function save(svg, name) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  return `Saved ${name}.`;
}

/**
 * Mark a figure while a hand moves something in it.
 * @param {HTMLElement} root
 * @param {AbortSignal} signal
 */
function hold(root, signal) {
  const held = (/** @type {boolean} */ now) => root.classList.toggle("is-held", now);
  root.addEventListener("pointermove", ({ buttons }) => buttons && held(true), { capture: true });
  // A slider that a finger draws may tell of nothing else.
  root.addEventListener("input", ({ target }) => held(/** @type {HTMLInputElement} */ (target).type === "range"), { capture: true });
  root.addEventListener("change", () => held(false));
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => held(false), { capture: true, signal });
}

/** @param {FocusEvent} event */
function leaveKeys(event) {
  /** @type {Element} */ (event.target).setAttribute("data-lm-suppress-shortcuts", "true");
}

/**
 * Once a root: several figures share it, and Lab's outputs each have their own document or shadow root.
 * @param {HTMLElement} el attached or not yet: JupyterLab renders what it attaches later
 * @param {Definition} definition
 */
function style(el, { name, css: own = "", answer }) {
  el.classList.add("attnlab-figure");
  const root = el.getRootNode();
  // By what it has: in another window `ShadowRoot` is another class.
  const home = "host" in root ? /** @type {ShadowRoot} */ (root) : el.ownerDocument.head;
  const hidden = answer ? `@media screen{.attnlab-covered:not(.is-open) [data-figure="${name}"] :is(.attnlab-status,${answer}){visibility:hidden}}` : "";
  for (const [key, text] of Object.entries({ all: css, [name]: own + hidden })) {
    if (home.querySelector(`style[data-attnlab-style="${key}"]`)) continue;
    const sheet = h("style", { "data-attnlab-style": key });
    sheet.textContent = text;
    home.append(sheet);
  }
}
