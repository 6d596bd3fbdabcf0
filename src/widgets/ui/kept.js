// What a browser keeps for a figure from one visit to the next, if it keeps anything.

/** What was kept under a name; null if nothing was, or something else. @param {string} name @returns {any} */
export function recalled(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null");
  } catch {
    return null; // no storage here, or something else in it
  }
}

/** @param {string} name @param {any} value */
export function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing: it is known as long as the page is open.
  }
}
