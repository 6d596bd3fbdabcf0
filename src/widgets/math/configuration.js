// What a configuration says of attention, by the rules of attnbook.configuration; and its fields in a list.

/** @typedef {import("./json.js").Read} Read */
/** @typedef {{ layers: number, terms: (number | number[])[], window?: number }} Group */
/** @typedef {{ inside: string, layers: number | null, heads: number | null, kept: number | null, head: number | null,
 *   value: number | null, latent: number[] | null, length: number | null, kinds: Record<string, number> | null,
 *   window: number | null, cache: Group[] | null, why: string,
 *   positions: { kind: string, bases?: number[], stretched?: string | null, factor?: number | null, bare?: number } | null }} Reading */

const BYTES = 2;
const isObject = (/** @type {any} */ value) => typeof value === "object" && value !== null && !Array.isArray(value);
const whole = (/** @type {any} */ value) => Number.isInteger(value) && value > 0;
const positive = (/** @type {any} */ value) => typeof value === "number" && value > 0;
const nothing = (/** @type {any} */ value) => value === undefined || value === null || value === false || value === 0 || value === "" || (Array.isArray(value) ? !value.length : isObject(value) && !Object.keys(value).length);
/** Groups of three digits, as Python's `,` writes them. @param {number} n */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/**
 * The part of a configuration that holds the model of the text, behind its path.
 * @param {any} config
 * @param {any} rules
 * @returns {[string, any]}
 */
export function inner(config, rules) {
  let path = "";
  for (;;) {
    const name = rules.inside.find((/** @type {string} */ name) => isObject(config[name]));
    if (!name) return [path, config];
    [path, config] = [`${path}${name}.`, config[name]];
  }
}

/**
 * @param {any} config
 * @param {any} rules
 * @returns {Reading}
 */
export function reading(config, rules) {
  const [inside, text] = inner(config, rules);
  const find = (/** @type {string} */ what) => {
    const name = rules[what].find((/** @type {string} */ name) => whole(text[name]));
    return name === undefined ? null : text[name];
  };
  /** @type {Reading} */
  const out = { inside, layers: find("layers"), heads: find("heads"), kept: find("kept"), head: find("head"), length: find("length"), value: null, latent: null, kinds: null, window: null, cache: null, why: "", positions: places(text) };
  const width = find("width");
  if (typeof text.multi_query === "boolean" && text.new_decoder_architecture !== true) out.kept = text.multi_query ? 1 : out.heads;
  out.kept ||= out.heads;
  if (out.head === null && width && out.heads && width % out.heads === 0) out.head = width / out.heads;
  if (whole(text.kv_lora_rank) && whole(text.qk_rope_head_dim)) Object.assign(out, { latent: [text.kv_lora_rank, text.qk_rope_head_dim], kept: null, head: null });
  else if (whole(text.v_head_dim)) out.value = text.v_head_dim;
  const names = layers(text, out, find("window"), rules);
  if (Array.isArray(names)) {
    out.layers ??= names.length;
    out.kinds = {};
    for (const name of names) out.kinds[name] = (out.kinds[name] ?? 0) + 1;
    out.window = out.kinds.window ? find("window") : null;
  }
  const cache = kept(text, out, typeof names === "string" ? names : "", rules);
  if (typeof cache === "string") out.why = cache;
  else out.cache = cache;
  if (rules.looks.some((/** @type {string} */ name) => !nothing(text[name]))) out.kinds = null;
  return out;
}

/** @param {any} text @param {any} rules @returns {string | undefined} */
const byType = (text, rules) => (typeof text.model_type === "string" && Object.hasOwn(rules.types, text.model_type) ? rules.types[text.model_type] : undefined);

/**
 * The kind of each layer, or why they can't be told.
 * @param {any} text
 * @param {Reading} out
 * @param {number | null} window
 * @param {any} rules
 * @returns {string[] | string}
 */
function layers(text, out, window, rules) {
  const doubt = byType(text, rules);
  if (doubt !== undefined) return doubt;
  const said = rules.each.map((/** @type {string} */ name) => text[name]).find(Array.isArray);
  const each = (/** @type {(at: number) => string} */ kind) => Array.from({ length: Math.min(out.layers ?? 0, 1e5) }, (_, at) => kind(at));
  const indices = text.attn_layer_indices;
  /** @type {string[]} */
  let names;
  if (said) {
    const odd = said.find((/** @type {any} */ word) => typeof word !== "string" || !Object.hasOwn(rules.kinds, word));
    if (odd !== undefined) return `layers of the kind “${odd}” are not read here`;
    if (out.layers !== null && out.layers !== said.length) return `${said.length} layers are listed, and ${out.layers} counted`;
    names = said.map((/** @type {string} */ word) => rules.kinds[word]);
  } else if (out.layers === null) return "no field says how many layers there are";
  else if (Array.isArray(indices) && indices.length) names = each((at) => (indices.includes(at) ? "full" : "linear"));
  else if (whole(text.attn_layer_period)) names = each((at) => (at % text.attn_layer_period === (text.attn_layer_offset ?? 0) ? "full" : "linear"));
  else if (whole(text.full_attention_interval)) names = each((at) => ((at + 1) % text.full_attention_interval ? "linear" : "full"));
  else if (out.heads === null && whole(text.state_size)) names = each(() => "linear");
  else if (Object.keys(text).some((name) => rules.states.some((/** @type {string} */ start) => name.startsWith(start)))) return "no field says which layers have a state";
  else if (window === null || text.use_sliding_window === false) names = each(() => (out.latent && whole(text.index_topk) ? "selected" : "full"));
  else if (whole(text.sliding_window_pattern)) names = each((at) => ((at + 1) % text.sliding_window_pattern ? "window" : "full"));
  else if (rules.windows.includes(text.model_type)) names = each(() => "window");
  else return "no field says which layers have the window";
  if (names.includes("window") && window === null) return "no field says how long the window is";
  const shared = text.num_kv_shared_layers;
  return whole(shared) ? names.map((name, at) => (at < /** @type {number} */ (out.layers) - shared ? name : "shared")) : names;
}

/**
 * What each kind of layer keeps of a token, or what hides it.
 * @param {any} text
 * @param {Reading} out
 * @param {string} doubt
 * @param {any} rules
 * @returns {Group[] | string}
 */
function kept(text, out, doubt, rules) {
  const why = byType(text, rules);
  if (why !== undefined) return why;
  const odd = rules.odd.find((/** @type {string} */ name) => !nothing(text[name]));
  if (odd) return `${odd} changes what is kept, in a way that this page can't compute`;
  if (!out.kinds) return doubt;
  const { kinds, latent, window } = out;
  if (Array.isArray(text.indexer_types) && text.indexer_types.some((/** @type {any} */ word) => word !== "full")) return "some layers choose keys with the indexer of another";
  const keeps = Object.keys(kinds).filter((name) => ["full", "window", "selected"].includes(name));
  if (!keeps.length) return [];
  if (!latent && !out.kept) return "no field says how many heads there are";
  if (!latent && !out.head) return "no field says how wide a head is";
  if (kinds.selected && !(latent && whole(text.index_head_dim))) return "no field says what is kept to choose keys by";
  const [many, wide] = [Number(out.kept), Number(out.head)];
  const terms = latent ? [latent] : out.value ? [many, [wide, out.value]] : [2, many, wide];
  return keeps.map((name) => ({
    layers: kinds[name],
    terms: name === "selected" && latent ? [[...latent, text.index_head_dim]] : terms,
    ...(name === "window" ? { window: Number(window) } : {}),
  }));
}

/** How places are told, as far as fields say it. @param {any} text @returns {Reading["positions"]} */
function places(text) {
  const attention = isObject(text.attn_config) ? text.attn_config : {};
  if (text.alibi === true || attention.alibi === true) return { kind: "ALiBi" };
  if (text.learned_pos_emb === true || text.use_learned_position_embeddings === true) return { kind: "learned" };
  const scaling = text.rope_parameters === undefined ? text.rope_scaling : text.rope_parameters;
  const parts = [text, ...(isObject(scaling) ? [scaling, ...Object.values(scaling).filter(isObject)] : [])];
  const bases = parts.flatMap((part) => ["rope_theta", "rotary_emb_base", "rope_local_base_freq"].map((name) => part[name]).filter(positive));
  if (!bases.length && !whole(text.rotary_dim)) return null;
  const said = parts.slice(1).map((part) => (part.rope_type === undefined ? part.type : part.rope_type)).filter((name) => typeof name === "string" && !["default", "main"].includes(name));
  const factors = parts.slice(1).map(({ factor }) => factor).filter(positive);
  const bare = text.no_rope_layers;
  return { kind: "rotary", bases: [...new Set(bases)].sort((a, b) => a - b), stretched: said[0] ?? null, factor: factors[0] ?? null, bare: Array.isArray(bare) ? bare.filter((x) => x === 0).length : 0 };
}

/** What a group of layers keeps of a token, in bytes. @param {Group} group */
export const groupBytes = ({ layers, terms }) => terms.reduce((/** @type {number} */ product, term) => product * (Array.isArray(term) ? term.reduce((a, b) => a + b) : term), layers * BYTES);

/** What each further token adds past all windows, in bytes; null if unknown. @param {Reading} reading */
export const tokenBytes = ({ cache }) => cache && cache.reduce((sum, group) => sum + (group.window === undefined ? groupBytes(group) : 0), 0);

/** @type {Record<string, string>} */
const WORDS = {
  full: "full",
  selected: "with chosen keys",
  linear: "with a state in place of keys",
  convolution: "with a short convolution",
  shared: "with the cache of another layer",
  none: "without attention",
};

/**
 * A reading in words.
 * @param {Reading} found
 * @returns {[string, string[]][]}
 */
export function summary(found) {
  const unknown = "unknown: no field says it";
  const { kinds, layers, window, length } = found;
  let counted = layers === null ? unknown : grouped(layers);
  if (kinds) {
    const each = Object.entries(kinds).map(([name, count]) => `${count} ${name === "window" ? `with a window of ${grouped(window ?? 0)} tokens` : WORDS[name]}`);
    counted += each.length > 1 ? `: ${each.join(", ")}` : `, all ${each[0].slice(each[0].indexOf(" ") + 1)}`;
  } else if (layers) counted += "; of which kinds is unknown";
  return [
    ["layers", [counted]],
    ["heads", [inHeads(found) || unknown]],
    ["cache", inCache(found)],
    ["window", [window && kinds ? `${grouped(window)} tokens, in ${kinds.window} layers` : kinds ? "none" : "unknown: no field says which layers have one"]],
    ["positions", [inPlaces(found.positions) || unknown]],
    ["made for", [length === null ? unknown : `${grouped(length)} tokens`]],
  ];
}

/** @param {Reading} found */
function inHeads({ heads, kept, head, value, latent, kinds }) {
  if (heads === null) return kinds && Object.keys(kinds).every((name) => ["linear", "convolution", "none"].includes(name)) ? "none: no layer has a softmax" : "";
  if (latent) return `${grouped(heads)} of queries; keys and values are made from a latent of ${latent.map(grouped).join(" + ")}`;
  const wide = head === null ? "" : `, each ${grouped(head)} wide${value && value !== head ? ` (values ${grouped(value)})` : ""}`;
  const many = Number(kept);
  const shared = heads > many && heads % many === 0 ? `: ${heads / many} queries share one` : "";
  return `${grouped(heads)} of queries, ${grouped(many)} of keys and values${wide}${shared}`;
}

/** @param {Reading} found */
function inCache({ cache, why }) {
  if (!cache) return [`unknown: ${why}`];
  if (!cache.length) return ["0 bytes a token: what is kept does not grow"];
  const last = (/** @type {Group} */ group) => Number(group.window !== undefined);
  return [...cache]
    .sort((a, b) => last(a) - last(b))
    .map((group) => {
      const terms = group.terms.map((term) => (Array.isArray(term) ? `(${term.map(grouped).join(" + ")})` : grouped(term)));
      const limit = group.window === undefined ? "" : `, for the last ${grouped(group.window)} tokens only`;
      return `${group.layers} layers × ${terms.join(" × ")} × ${BYTES} bytes = ${grouped(groupBytes(group))} bytes a token${limit}`;
    });
}

/** @param {Reading["positions"]} positions */
function inPlaces(positions) {
  if (!positions || positions.kind !== "rotary") return positions?.kind ?? "";
  const { bases = [], stretched, factor, bare } = positions;
  const base = bases.length ? `, base ${bases.map((x) => grouped(Math.round(x))).join(" and ")}` : "";
  const by = stretched ? `, stretched${factor === null || factor === undefined ? "" : ` by ${factor}`} (${stretched})` : "";
  return `rotary${base}${by}${bare ? `; ${bare} layers without` : ""}`;
}

/**
 * Every field in its order, those of nested objects behind the object's own.
 * @param {Read} read
 * @returns {{ path: string, name: string, value: string }[]}
 */
export function listed(read) {
  /** @type {{ path: string, name: string, value: string }[]} */
  const out = [];
  const walk = (/** @type {Read} */ object, /** @type {string} */ path) => {
    if (object.kind !== "object") return;
    for (const { name, value } of object.fields) {
      out.push({ path, name, value: inWords(value) });
      walk(value, `${path}${name}.`);
    }
  };
  walk(read, "");
  return out;
}

const LONG = 160;

/** A value in a line: an object by the number of its fields, a list with what repeats written once. @param {Read} read */
function inWords(read) {
  if (read.kind === "object") return read.fields.length === 1 ? "1 field" : `${read.fields.length} fields`;
  const text = read.kind === "plain" ? read.text : repeated(read.values.map(written));
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

/** @param {Read} read @returns {string} */
function written(read) {
  if (read.kind === "plain") return read.text;
  if (read.kind === "list") return `[${read.values.map(written).join(", ")}]`;
  return `{${read.fields.map(({ name, value }) => `${JSON.stringify(name)}: ${written(value)}`).join(", ")}}`;
}

/** @param {string[]} values */
function repeated(values) {
  const n = values.length;
  for (let period = 1; period <= n / 2; period += 1) {
    if (n % period === 0 && n / period > 2 && values.every((value, at) => value === values[at % period])) return `[${values.slice(0, period).join(", ")}] × ${n / period}`;
  }
  /** @type {[string, number][]} */
  const runs = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last && last[0] === value) last[1] += 1;
    else runs.push([value, 1]);
  }
  return `[${runs.map(([value, many]) => (many > 2 ? `${value} × ${many}` : Array(many).fill(value).join(", "))).join(", ")}]`;
}
