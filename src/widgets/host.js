// The page's host: mounts every <figure data-attnlab="name"> once, with its settings, and no kernel.
// A page loads the scripts of its own figures and of no others, so no page grows with the book.
import { load } from "./ui/script.js";

// Known only while this script runs: files that figures load later lie beside it.
const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
const base = new URL(".", script?.src || document.baseURI).href;

/** @param {HTMLElement} mount */
async function start(mount) {
  const name = mount.dataset.attnlab ?? "";
  if (mount.style.minHeight || mount.dataset.mounted) return;
  // Its place stays open until it stands: what is below must not jump.
  mount.style.minHeight = `${mount.offsetHeight}px`;
  const figures = () => /** @type {any} */ (globalThis).attnlabFigures;
  if (!figures()?.[name]) await load(`figures/${name}.js`, base);
  const figure = figures()[name];
  const place = [...document.querySelectorAll(`figure[data-attnlab="${name}"]`)].indexOf(mount);
  const parameter = place ? `${name}-${place + 1}` : name;
  mount.id ||= `figure-${parameter}`;
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
  await figure.render({ model: pageModel(settings), el, place: { base, link, shared } });
  mount.style.minHeight = "";
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

// What does not load leaves the figure as it is without scripts: its picture and its numbers.
const startAll = () => document.querySelectorAll("figure[data-attnlab]").forEach((el) => start(/** @type {any} */ (el)).catch(console.error));
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
else startAll();
