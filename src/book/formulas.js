// Sets a formula as MathML: run by the book's build, never by a page.
import temml from "temml";

/**
 * @param {string} tex
 * @param {boolean} display whether it stands on a line of its own
 */
const formula = (tex, display) =>
  // A formula in a line may break behind a relation or a sum; one that stands alone scrolls.
  temml.renderToString(tex, { displayMode: display, throwOnError: true, wrap: display ? "none" : "tex" });

Object.assign(globalThis, { formula });
