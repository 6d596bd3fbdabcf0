// Classic scripts that a page loads when it needs them: from file:// browsers refuse modules and fetch.

/**
 * @param {string} file
 * @param {string | undefined} base where the page's scripts are
 * @returns {Promise<void>} rejected if it does not come
 */
export const load = (file, base) =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    // The page knows what its scripts hold: one that has changed is not taken from an old cache.
    script.src = new URL(file + (/** @type {any} */ (globalThis).attnlabVersion ?? ""), base ?? document.baseURI).href;
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(`${file} did not load. Reload the page.`));
    document.head.append(script);
  });
