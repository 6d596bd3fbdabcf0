// The tagger that ships with the package: how a figure comes by its weights.
import { readModel } from "../math/tagger.js";

/**
 * The model comes as bytes from a live kernel, or from a script beside the page's own.
 * @param {any} model
 * @param {string | undefined} base
 */
export async function loadTagger(model, base) {
  const given = model.get("model");
  if (given?.byteLength) return readModel(new Uint8Array(given.buffer ?? given, given.byteOffset ?? 0, given.byteLength));
  const store = () => /** @type {any} */ (globalThis).attnlabModels?.tagger;
  if (!store()) {
    await new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("models/tagger-model.js", base ?? document.baseURI).href;
      script.onload = resolve;
      script.onerror = () => reject(new Error("its weights (models/tagger-model.js) did not load. Reload the page."));
      document.head.append(script);
    });
  }
  return readModel(Uint8Array.from(atob(store()), (c) => c.charCodeAt(0)));
}
