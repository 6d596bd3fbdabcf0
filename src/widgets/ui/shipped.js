// The models that ship with the package: how a figure comes by their weights.
import { readModel } from "../math/packed.js";
import { load } from "./script.js";

/**
 * They come as bytes from a live kernel, or from a script beside the page's own.
 * @param {string} name of the file: tagger, alignment or decoder
 * @param {any} model the figure's
 * @param {string | undefined} base where the page's scripts are
 * @returns {Promise<any>} what `readModel` makes of them
 */
export async function shipped(name, model, base) {
  const given = model.get("model");
  if (given?.byteLength) return readModel(new Uint8Array(given.buffer ?? given, given.byteOffset ?? 0, given.byteLength));
  const store = () => /** @type {any} */ (globalThis).attnlabModels?.[name];
  if (!store()) await load(`models/${name}-model.js`, base);
  const read = readModel(Uint8Array.from(atob(store()), (c) => c.charCodeAt(0)));
  // On a slow phone reading takes a tenth of a second, and so does drawing: a tap may come between.
  await new Promise((on) => setTimeout(on));
  return read;
}
