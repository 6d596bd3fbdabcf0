// The page's host: mounts every <figure data-attnlab="name"> once, with its settings, and no kernel.
// A page loads the scripts of its own figures and of no others, so no page grows with the book.
import { load } from "./ui/script.js";

// Known only while this script runs: files that figures load later lie beside it.
const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
const base = new URL(".", script?.src || document.baseURI).href;
/** @type {Map<HTMLElement, (state: string) => void>} what a figure that stands does when a link asks it for a state */
const follows = new Map();

/**
 * @param {HTMLElement} mount
 * @param {number} height of its place, which stays open until it stands: what is below must not jump
 */
async function start(mount, height) {
  const name = mount.dataset.attnlab ?? "";
  if (mount.style.minHeight || mount.dataset.mounted) return;
  const parameter = named(mount);
  mount.style.minHeight = `${height}px`;
  const figures = () => /** @type {any} */ (globalThis).attnlabFigures;
  if (!figures()?.[name]) await load(`figures/${name}.js`, base);
  const figure = figures()[name];
  const settings = JSON.parse(mount.dataset.settings ?? "{}");
  const shared = new URLSearchParams(location.search).get(parameter);
  const caption = mount.querySelector("figcaption");
  const el = document.createElement("div");
  mount.dataset.mounted = "true";
  mount.replaceChildren(el, ...(caption ? [caption] : []));
  const link = (/** @type {Record<string, any>} */ state) => {
    const address = new URL(location.href);
    address.searchParams.set(parameter, JSON.stringify(state));
    address.hash = mount.id;
    return address.href;
  };
  const follow = (/** @type {(state: string) => void} */ open) => {
    let last = shared;
    const go = (/** @type {string | null} */ state) => {
      // Whoever asks for a state wants to see it: the page's questions take their sheet away.
      if (state !== null) mount.dispatchEvent(new Event("attnlab-asked"));
      open((last = state) ?? "{}");
    };
    addEventListener("popstate", () => {
      const state = new URLSearchParams(location.search).get(parameter);
      if (state !== last) go(state);
    });
    follows.set(mount, go);
  };
  await figure.render({ model: pageModel(settings), el, place: { base, link, shared, follow } });
  mount.style.minHeight = "";
}

/**
 * The state that a click on a link of this very page asks a figure for; the address is then the link's.
 * @param {MouseEvent} event
 * @param {string} parameter
 * @returns {{ state: string, anchor: HTMLAnchorElement } | null}
 */
function asked(event, parameter) {
  const anchor = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest("a[href]"));
  // Whoever wants another tab, or to save it, gets that.
  if (!anchor || anchor.target || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null;
  // A link to another place of the page has the state of now in its address, and asks for none.
  if (anchor.getAttribute("href")?.startsWith("#")) return null;
  const address = new URL(anchor.href);
  const state = address.searchParams.get(parameter);
  if (state === null || address.origin !== location.origin || address.pathname !== location.pathname) return null;
  try {
    history.pushState(null, "", address);
  } catch {
    return null; // not from a file: the page loads again
  }
  return { state, anchor };
}

/**
 * Lead to a figure, and back to the words that asked for its state.
 * @param {HTMLElement} mount
 * @param {HTMLAnchorElement} anchor
 */
function visit(mount, anchor) {
  wayBack(mount, anchor);
  mount.scrollIntoView({ block: "start" });
  // The next Tab goes on from here, as after any link within a page.
  mount.tabIndex = -1;
  mount.focus({ preventScroll: true });
}

/**
 * Put below a figure a link back to the words that asked for its state.
 * @param {HTMLElement} mount
 * @param {HTMLAnchorElement} anchor
 */
function wayBack(mount, anchor) {
  mount.querySelector(":scope > .attnlab-back")?.remove();
  if (mount.contains(anchor)) return;
  const from = anchor.closest("p, li, td") ?? anchor;
  const name = `${mount.id}-asked-`;
  from.id ||= name + (document.querySelectorAll(`[id^="${name}"]`).length + 1);
  const first = from.firstElementChild;
  const title = first?.matches("strong") ? first.textContent?.replace(/\.$/, "") : "";
  const link = document.createElement("a");
  link.href = `#${from.id}`;
  link.textContent = title ? `Back to “${title}”` : "Back to the text";
  const line = document.createElement("p");
  line.className = "attnlab-back";
  line.append(link);
  mount.append(line);
}

/**
 * What a link calls a figure, and its place in the page.
 * @param {HTMLElement} mount
 */
function named(mount) {
  const name = mount.dataset.attnlab ?? "";
  const place = [...document.querySelectorAll(`figure[data-attnlab="${name}"]`)].indexOf(mount);
  const parameter = place ? `${name}-${place + 1}` : name;
  mount.id ||= `figure-${parameter}`;
  return parameter;
}

/**
 * Show the figure that a link leads to, wherever others and formulas push it, unless the reader goes elsewhere.
 * @param {HTMLElement} mount
 * @param {Promise<unknown>} standing
 */
async function lead(mount, standing) {
  const gone = new AbortController();
  for (const sign of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(sign, () => gone.abort(), { signal: gone.signal, passive: true });
  // What it asks for stands above it: where that leaves most of the screen to the figure, it is in sight, too.
  const show = () => {
    const words = /** @type {HTMLElement | null | undefined} */ (mount.closest(".cell")?.previousElementSibling);
    const most = words?.matches("p") ? 4 : words?.matches(".predict") ? 2 : Infinity; // a box to predict in is the figure's first step
    const first = words && words.offsetHeight < innerHeight / most ? words : mount;
    gone.signal.aborted || first.scrollIntoView({ block: "start", behavior: "instant" });
  };
  await standing;
  show();
  if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded, { once: true }));
  await document.fonts.ready;
  show();
  gone.abort();
}

/** @param {Record<string, any>} values */
function pageModel(values) {
  return {
    get: (/** @type {string} */ key) => values[key],
    set: (/** @type {string} */ key, /** @type {any} */ value) => void (values[key] = value),
    save_changes() {},
    on() {},
  };
}

/** A figure far below costs nothing until the reader comes near; one of them brings a model of 100 KB. */
function startAll() {
  const mounts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("figure[data-attnlab]")]);
  const parameters = mounts.map(named);
  const wanted = mounts.find(({ id }) => location.hash === `#${id}`);
  const near = new IntersectionObserver(
    (seen) => {
      for (const { target, isIntersecting, boundingClientRect } of seen) if (isIntersecting) come(/** @type {HTMLElement} */ (target), boundingClientRect.height);
    },
    { rootMargin: "100% 0%" },
  );
  const come = (/** @type {HTMLElement} */ mount, height = mount.offsetHeight) => {
    near.unobserve(mount);
    // What does not load leaves the figure as it is without scripts: its numbers.
    return start(mount, height).catch(console.error);
  };
  // In a deck none is below another; those above the one that a link leads to would push it.
  if (wanted || document.body.dataset.attnAll !== undefined) {
    const standing = Promise.all(mounts.map((mount) => come(mount)));
    if (wanted) lead(wanted, standing);
  } else mounts.forEach((mount) => near.observe(mount));
  // Paper shows the picture of those that do not stand yet, as a browser without scripts does.
  addEventListener("beforeprint", () => {
    for (const mount of mounts) {
      const picture = mount.dataset.mounted ? null : mount.querySelector(":scope > noscript");
      picture?.insertAdjacentHTML("afterend", picture.textContent ?? "");
      picture?.remove();
    }
  });
  document.addEventListener("click", async (event) => {
    for (const [at, mount] of mounts.entries()) {
      const go = follows.get(mount);
      const found = go || !mount.dataset.mounted ? asked(event, parameters[at]) : null;
      if (!found) continue;
      event.preventDefault();
      if (go) go(found.state);
      else {
        // One that nobody has come near begins with the state of the address.
        mount.dispatchEvent(new Event("attnlab-asked"));
        await come(mount);
      }
      return visit(mount, found.anchor);
    }
  });
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
else startAll();
