// The page's host: mounts every <figure data-attnlab="name"> once, with its settings, and no kernel.
import alignment from "./alignment.js";
import block from "./block.js";
import calculator from "./calculator.js";
import decoder from "./decoder.js";
import heads from "./heads.js";
import inside from "./inside.js";
import linear from "./linear.js";
import lookup from "./lookup.js";
import masks from "./masks.js";
import online from "./online.js";
import patterns from "./patterns.js";
import positions from "./positions.js";
import saturation from "./saturation.js";
import tag from "./tag.js";

const FIGURES = Object.fromEntries(
  [
    alignment,
    block,
    calculator,
    decoder,
    heads,
    inside,
    linear,
    lookup,
    masks,
    online,
    patterns,
    positions,
    saturation,
    tag,
  ].map((figure) => [figure.name, figure]),
);
// Known only while this script runs: files that figures load later lie beside it.
const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
const base = new URL(".", script?.src || document.baseURI).href;

/** @param {HTMLElement} mount */
function start(mount) {
  const name = mount.dataset.attnlab ?? "";
  const figure = FIGURES[name];
  if (!figure || mount.dataset.mounted) return;
  mount.dataset.mounted = "true";
  const place = [...document.querySelectorAll(`figure[data-attnlab="${name}"]`)].indexOf(mount);
  const parameter = place ? `${name}-${place + 1}` : name;
  mount.id ||= `figure-${parameter}`;
  const settings = JSON.parse(mount.dataset.settings ?? "{}");
  const shared = new URLSearchParams(location.search).get(parameter);
  if (shared) Object.assign(settings, known(shared, figure.keys));
  const caption = mount.querySelector("figcaption");
  const el = document.createElement("div");
  mount.replaceChildren(el, ...(caption ? [caption] : []));
  const link = (/** @type {Record<string, any>} */ state) => {
    const address = new URL(location.href);
    address.searchParams.set(parameter, JSON.stringify(state));
    address.hash = mount.id;
    return address.href;
  };
  figure.render({ model: pageModel(settings), el, place: { base, link } });
}

/**
 * Read the state in a link; what cannot be read is left out, a broken link still shows the figure.
 * @param {string} text
 * @param {string[]} keys
 */
function known(text, keys) {
  try {
    const state = JSON.parse(text);
    return Object.fromEntries(Object.entries(state).filter(([key]) => keys.includes(key)));
  } catch {
    return {};
  }
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

const startAll = () => document.querySelectorAll("figure[data-attnlab]").forEach((el) => start(/** @type {any} */ (el)));
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
else startAll();
