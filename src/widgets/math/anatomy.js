// Published checkpoints: what their caches hold at a length, and their formula with the parts that it changed.

/**
 * `cache`: for each kind of entry its layers, bytes a token, bytes a token within a window, the window, bytes of state.
 * @typedef {{ label: string, year: number, strip: string, norms: string, cache: number[][], kept?: any[], latent?: number[],
 *   shared?: number, cap?: any, windows?: any, tied?: number, qk?: number, sink?: number, gate?: any, streams?: string,
 *   root?: number, chosen?: number, index?: number[], delta?: number, turned?: number, bare?: number, places?: string,
 *   table?: number }} Model
 * @typedef {{ text: string, part?: string }} Token a piece of a formula; `part` names what is not as it was in 2017
 */

/** What the letters of a strip mean. */
export const KINDS = /** @type {Record<string, string>} */ ({
  F: "full", W: "window", B: "own block", S: "selected", P: "pooled", L: "linear", H: "attention and linear", C: "convolution", X: "cross", N: "none",
});

/**
 * Bytes in the cache for n tokens, at two bytes a number.
 * @param {Model} model
 * @param {number} n
 */
export const held = ({ cache }, n) =>
  Math.round(cache.reduce((sum, [layers, grow, within, window, state]) => sum + layers * (grow * n + within * Math.min(n, window) + state), 0));

/**
 * Between two lengths, where the one that holds more changes.
 * @param {Model} one
 * @param {Model} other
 * @param {number[]} between
 * @returns {number[]} of each such place the first length at which it is no longer so
 */
export function crossings(one, other, [from, to]) {
  const more = (/** @type {number} */ n) => Math.sign(held(one, n) - held(other, n));
  const found = [];
  let [last, before] = [from, more(from)];
  for (let n = from; n < to; ) {
    n = Math.min(Math.ceil(n * 1.05), to);
    const now = more(n);
    if (now && before && now !== before) {
      let [low, high] = [last, n];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (more(middle) === before) low = middle;
        else high = middle;
      }
      found.push(high);
    }
    if (now) [last, before] = [n, now];
  }
  return found;
}

/**
 * How many layers of each kind, the most first.
 * @param {Model} model
 * @returns {[string, number][]} letter and number
 */
export const counted = ({ strip }) =>
  /** @type {[string, number][]} */ (Object.keys(KINDS).map((kind) => [kind, strip.split(kind).length - 1])).filter(([, n]) => n).sort((a, b) => b[1] - a[1]);

const several = (/** @type {any} */ x) => (Array.isArray(x) ? x.join(" or ") : String(x));

/** Keep words on one line. */
const whole = (/** @type {string} */ words) => words.replaceAll(" ", "\u00a0");

/** Where the norm of a layer stands, in words. */
const NORMED = /** @type {Record<string, string>} */ ({ pre: "normed before each layer", sandwich: "normed before and after each layer", output: "normed after each layer", post: "normed once a layer has been added" });

/**
 * What the layers with a softmax keep, in words: of each token what, and of which tokens.
 * @param {Model} model
 */
function keeps({ strip, windows, tied, latent }) {
  const what = tied ? "one row" : latent ? "one short row" : "k and v";
  const last = `the last ${several(windows ?? [])}`;
  if (strip.includes("P")) return `keeps ${what} of each of ${last} tokens, and in most layers one of each block before`;
  const every = /[FSH]/.test(strip);
  const near = strip.includes("B") ? `its own block of ${several(windows ?? [])}` : strip.includes("W") ? last : "";
  return `keeps ${what} of ${every ? `every token${near && `, or of ${near}`}` : `${near} tokens`}`;
}

/**
 * What attention does that it did not in 2017, in words.
 * @param {Model} model
 */
function does({ turned, places, latent, qk, cap, sink, gate }) {
  const rows = [turned && "turned by position", qk && "normed"].filter(Boolean).join(" and ");
  const found = [
    latent ? `a short key ${turned ? "for positions" : "that is not turned"}` : rows && `q and k ${rows}`,
    places === "ALiBi" ? "less for what is far" : places === "relative" ? "a bias for the distance" : "",
    cap ? "scores capped" : "", sink ? "may look nowhere" : "", gate ? "its result gated" : "",
  ];
  return found.filter(Boolean).join(", ") || "as in 2017";
}

/**
 * The formula of a model, in lines: what is kept, what other layers do, attention, where the norms stand; most with plain words.
 * @param {Model} model
 * @returns {{ what: string, words?: string, tokens: Token[] }[]}
 */
export function formula(model) {
  const { strip, norms, kept } = model;
  const has = (/** @type {string} */ letters) => [...letters].some((letter) => strip.includes(letter));
  const norm = { text: "Norm", part: "norms" };
  /** @type {Token[]} */
  const stream = [{ text: "x ← " }];
  if (norms === "post") stream.push({ text: "Norm(x + layer(x))" });
  else {
    const [outer, inner] = [["sandwich", "output"].includes(norms), ["sandwich", "pre"].includes(norms)];
    stream.push({ text: "x + " }, ...(outer ? [norm, { text: "(" }] : []), { text: "layer(" }, ...(inner ? [norm, { text: "(x)" }] : [{ text: "x" }]), { text: outer ? "))" : ")" });
  }
  if (model.streams) stream.push({ text: model.streams === "attention over depth" ? ", from all depths" : ", in several streams", part: "streams" });
  /** @type {{ what: string, words?: string, tokens: Token[] }[]} */
  const lines = [];
  if (has("FWBSPH")) {
    const hat = model.qk ? "\u0302" : "";
    /** @type {Token[]} */
    const line = [];
    if (model.gate) line.push({ text: "σ(x W) ⊙ ", part: "gate" });
    line.push({ text: "softmax(" });
    if (model.cap) line.push({ text: `${several(model.cap)} tanh(`, part: "cap" });
    // Beside keys from a latent stands a short one for all heads, and only that is turned.
    if (model.latent) line.push({ text: "(q kᵀ " }, { text: "+ qᵣ ", part: "short" });
    else line.push({ text: `q${hat} `, part: hat && "qk" });
    if (model.turned) line.push({ text: "R ", part: "turned" });
    if (model.latent) line.push({ text: "kᵣᵀ", part: "short" }, { text: ")" });
    else line.push({ text: `k${hat}ᵀ`, part: hat && "qk" });
    if (model.root) line.push({ text: " / " }, { text: `√${model.root}`, part: "root" });
    // A key with a short one beside it is as wide as both.
    else if (model.latent) line.push({ text: " " }, { text: whole("/ √(d") }, { text: whole(" + dᵣ"), part: "short" }, { text: ")" });
    else if (model.root === undefined) line.push({ text: " / √d" });
    if (model.cap) line.push({ text: ")", part: "cap" });
    if (model.places === "ALiBi" || model.places === "relative") line.push({ text: model.places === "ALiBi" ? " − m · distance" : " + b(distance)", part: "places" });
    if (model.sink) line.push({ text: ", sink", part: "sink" });
    line.push({ text: whole(") ") }, { text: model.tied ? "k" : "v", part: model.tied ? "tied" : "" });
    lines.push({ what: "attention", words: does(model), tokens: line });
    if (model.root === 0) lines.push({ what: "scores", tokens: [{ text: "not divided by √d", part: "root" }] });
    /** @type {Token[]} */
    const seen = [];
    const put = (/** @type {boolean} */ on, /** @type {string} */ text, part = "") => on && seen.push({ text: seen.length ? ", or " : "" }, { text, part });
    const last = model.windows ? `the last ${several(model.windows)}` : "a window";
    if (has("P")) {
      // A layer sees its window, and of what lies before it blocks that are pooled.
      seen.push({ text: last, part: "windows" }, { text: ", and " });
      if (has("S")) seen.push({ text: `the best ${model.chosen} pooled blocks`, part: "chosen" }, { text: ", or " });
      seen.push({ text: "all pooled blocks", part: "pooled" });
      if (has("W")) seen.push({ text: ", or nothing else" });
    } else {
      put(has("FH"), "all before");
      put(has("W"), last, "windows");
      put(has("B"), `its own block of ${several(model.windows)}`, "windows");
      put(has("S"), model.chosen ? `the best ${model.chosen}` : "chosen ones", "chosen");
    }
    lines.push({ what: "keys seen", tokens: seen });
    if (model.turned && model.bare) lines.push({ what: "positions", tokens: [{ text: `no R in ${model.bare} layers`, part: "bare" }] });
    if (kept) {
      const [heads, few] = kept;
      const most = Math.max(...[few].flat());
      /** @type {Token[]} */
      const tokens = [];
      if (model.tied) tokens.push({ text: `1 row for ${heads} heads`, part: "grouped" }, { text: ", key and value at once", part: "tied" });
      else if (model.latent) tokens.push({ text: `latent of ${model.latent[0]} for ${heads} heads, key of ${model.latent[1]}`, part: "latent" });
      else if (most < heads) tokens.push({ text: `k, v of ${several(few)} ${most === 1 ? "head" : "heads"} for ${heads} of queries`, part: "grouped" });
      else tokens.push({ text: `k, v of all ${heads} heads` });
      if (model.index) {
        const [wide, layers] = model.index;
        tokens.push({ text: `, an indexer's key of ${wide}${layers < strip.length ? ` in ${layers} layers` : ""}`, part: "index" });
      }
      if (model.shared) tokens.push({ text: `; ${model.shared} layers read another's`, part: "shared" });
      if (has("LH")) tokens.push({ text: "; states S", part: "state" });
      lines.unshift({ what: "memory", words: keeps(model), tokens });
    }
  }
  // A delta rule asks the state what the key holds once it has faded.
  if (has("LH")) lines.splice(Number(Boolean(kept)), 0, { what: "linear", words: `keeps a matrix a head, which fades${model.delta ? " and is corrected" : ""}`, tokens: [{ text: `S ← fade · S${model.delta ? `, then S ← S ${whole("+ β kᵀ(v − kS)")}` : " + kᵀ v"}, ${whole("out = q S")}`, part: "state" }] });
  return [...lines, { what: "stream", words: NORMED[norms], tokens: stream }];
}

/**
 * The parts of a model's formula, each with its words.
 * @param {Model} model
 * @returns {Map<string, string>}
 */
export function parts(model) {
  const found = new Map();
  for (const { tokens } of formula(model)) for (const { text, part } of tokens) if (part) found.set(part, (found.get(part) ?? "") + text);
  return found;
}

/**
 * The parts of one model that another has not, or has otherwise.
 * @param {Model} one
 * @param {Model} other
 * @returns {Set<string>}
 */
export function differing(one, other) {
  const theirs = parts(other);
  return new Set([...parts(one)].filter(([part, words]) => theirs.get(part) !== words).map(([part]) => part));
}

/** @param {number} bytes @returns {[number, string]} */
const unit = (bytes) => (bytes >= 2 ** 40 ? [2 ** 40, "TiB"] : bytes >= 2 ** 30 ? [2 ** 30, "GiB"] : bytes >= 2 ** 20 ? [2 ** 20, "MiB"] : bytes >= 2 ** 10 ? [2 ** 10, "KiB"] : [1, "B"]);

/**
 * A size in words, with three digits.
 * @param {number} bytes
 */
export function size(bytes) {
  const [one, name] = unit(Math.min(Math.max(bytes, 2 ** 10), 2 ** 30));
  const value = bytes / one;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${name}`;
}

/**
 * A size in words that is a round number of its unit.
 * @param {number} bytes
 */
export const brief = (bytes) => `${bytes / unit(bytes)[0]} ${unit(bytes)[1]}`;

/**
 * Round places on a scale from nothing to `most`: how far apart, and which.
 * @param {number} most bytes
 * @param {number} wanted how many there may be, beside nothing
 * @returns {[number, number[]]}
 */
export function ticks(most, wanted) {
  const round = [0, 10, 20, 30, 40].flatMap((power) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((k) => k * 2 ** power));
  const step = /** @type {number} */ (round.find((one) => one * wanted >= most));
  return [step, Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k)];
}
