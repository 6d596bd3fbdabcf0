// What a configuration says of attention, by the rules of attnbook.configuration; and its fields in a list.

/** @typedef {import("./json.js").Read} Read */
/** @typedef {{ layers: number, terms: (number | number[])[], window?: number, state?: boolean }} Group */
/** @typedef {{ inside: string, layers: number | null, heads: number | null, kept: number | null, head: number | null,
 *   more: string[], value: number | null, latent: number[] | null, length: number | null, kinds: Record<string, number> | null, order: string[] | null,
 *   window: number | null, foreign: boolean, cache: Group[] | null, why: string, reads: boolean, by: Record<string, string>, unread: Record<string, string>,
 *   positions: { kind: string, bases?: number[], by?: string, stretched?: string | null, factor?: number | null, alpha?: number | null, some?: boolean, bare?: number | null } | null }} Reading */

const BYTES = 2;
const isObject = (/** @type {any} */ value) => typeof value === "object" && value !== null && !Array.isArray(value);
const whole = (/** @type {any} */ value) => Number.isInteger(value) && value > 0;
const given = (/** @type {any} */ value) => value !== undefined && value !== null;
const positive = (/** @type {any} */ value) => Number.isFinite(value) && value > 0;
const nothing = (/** @type {any} */ value) => !value || (Array.isArray(value) ? !value.length : isObject(value) && !Object.keys(value).length);
const narrow = (/** @type {string} */ kind) => kind === "window" || kind === "block";
/** Groups of three digits, as Python's `,` writes them. @param {number} n */
export const grouped = (n) => (Number.isInteger(n) ? String(BigInt(n)) : String(n)).replace(/\B(?=(\d{3})+$)/g, ",");

/**
 * The part of a configuration that holds the model of the text, behind its path.
 * @param {any} config
 * @param {any} rules
 * @returns {[string, any]}
 */
export function inner(config, rules) {
  let path = "";
  for (;;) {
    const name = rules.inside.find((/** @type {string} */ name) => isObject(config[name]) && !nothing(config[name]));
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
  const [inside, part] = inner(config, rules);
  // No prototype: a field may be called __proto__.
  const known = byType(part, rules.classes)?.more ?? {};
  const text = Object.assign(Object.create(null), known, isObject(part.attn_config) ? part.attn_config : {}, part);
  // Kimi Linear counts its layers from 1.
  const full = isObject(text.linear_attn_config) && text.linear_attn_config.full_attn_layers;
  if (!nothing(full)) text.attn_layer_indices = Array.isArray(full) ? full.map((at) => (whole(at) ? at - 1 : at)) : full;
  const { found, unread } = numbers(text, rules);
  /** @type {Record<string, string>} */
  const by = {};
  const own = leftOut(text, found, unread, by, rules);
  const { window, width, ...rest } = found;
  if (!by.length && rules.length.some((/** @type {string} */ name) => whole(text[name]) && text[name] !== found.length)) by.length = "taken";
  /** @type {Reading} */
  const out = { inside, more: Object.keys(known).filter((name) => !(name in part || rules.also[name] in part)), unread, by, .../** @type {any} */ (rest), value: null, latent: null, order: null, kinds: null, window: null, cache: null, why: "", positions: null, reads: reads(text, rules), foreign: typeof text.model_type === "string" && text.model_type !== "" && !byType(text, rules.classes) };
  if (typeof text.multi_query === "boolean" && text.new_decoder_architecture !== true) {
    out.kept = text.multi_query ? 1 : out.heads;
    delete unread.kept;
    delete by.kept;
  } else if (out.kept === null) {
    const other = others(text, rules);
    if (other) unread.kept ??= other;
  }
  if (!unread.kept && !out.kept && out.heads) {
    out.kept = out.heads;
    if (own.kept !== 0) by.kept = "taken";
  }
  if (out.heads && out.kept && out.heads % out.kept) {
    unread.kept = `${out.heads} heads can't share ${out.kept} of keys and values evenly`;
    out.kept = null;
  }
  if (out.head === null && width && out.heads && !unread.head) {
    if (width % out.heads === 0) {
      out.head = width / out.heads;
      if (by.width || own.head !== 0) by.head = by.width ?? "taken";
    } else unread.head = `${rules.width.find((/** @type {string} */ name) => whole(text[name])) ?? rules.own_width} is ${width}, which ${out.heads} heads can't share evenly`;
  } else if (out.head === null && unread.width) unread.head ??= unread.width;
  if (whole(text.kv_lora_rank) && text.use_mla !== false) {
    out.kept = out.head = null;
    if (whole(text.qk_rope_head_dim)) out.latent = [text.kv_lora_rank, text.qk_rope_head_dim];
    else unread.kept = rules.unturned;
  } else if (whole(text.v_head_dim)) out.value = text.v_head_dim;
  const names = layers(text, out, window, own, rules);
  if (Array.isArray(names)) {
    out.layers ??= names.length;
    out.kinds = {};
    for (const name of names) out.kinds[name] = (out.kinds[name] ?? 0) + 1;
    out.window = names.some(narrow) ? window : null;
  }
  const cache = kept(text, out, typeof names === "string" ? names : "", rules);
  if (typeof cache === "string") out.why = cache;
  else out.cache = cache;
  const looks = rules.looks.find((/** @type {string} */ name) => !nothing(text[name]));
  if (looks) out.kinds = null;
  // Of more no tick could be told from the next.
  if (out.kinds && names.length < 161) out.order = /** @type {string[]} */ (names);
  if (!out.kinds) unread.kinds = looks ? `${looks} ${rules.blurs}` : String(names);
  out.positions = places(text, unread, own.bases, rules);
  return out;
}

/**
 * Puts in what a file leaves out and its class says.
 * @param {any} text
 * @param {Record<string, number | null>} found
 * @param {Record<string, string>} unread
 * @param {Record<string, string>} by
 * @param {any} rules
 * @returns {any} what the class has
 */
function leftOut(text, found, unread, by, rules) {
  const known = byType(text, rules.classes);
  const own = known ?? {};
  const named = (/** @type {string[]} */ names) => names.some((name) => name in text);
  for (const what of rules.numbers) {
    // A list of layers counts them, and Falcon's newer design shares no keys unless a field says so.
    if (what === "layers" && rules.each.some((/** @type {string} */ name) => text[name]?.length)) continue;
    if (named(rules[what]) || (what === "kept" && text.new_decoder_architecture === true)) continue;
    if (own[what]) [found[what], by[what]] = [own[what], "own"];
    else if (own[what] === null) unread[what] = rules.no[what];
  }
  if (!known && !named([...rules.window, ...rules.each])) by.window = "taken";
  return own;
}

/** Which field, not read here, may hold a number of heads of keys. @param {any} text @param {any} rules */
function others(text, rules) {
  const here = [...rules.wholes, ...rules.head, ...rules.flags];
  for (const [name, value] of Object.entries(text)) {
    const told = value === "multihead_attention" || name.includes("qkv") || here.includes(name);
    if (name.match(rules.keys) && !told && !nothing(value)) return `${name} is ${rules.may}`;
  }
  return "";
}

/** Which value of a field that is read, beside those looked for as a number, can't be used. @param {any} text @param {any} rules */
function unfit(text, rules) {
  for (const [kind, fits] of Object.entries({ wholes: whole, flags: (/** @type {any} */ value) => typeof value === "boolean", lists: Array.isArray })) {
    const name = rules[kind].find((/** @type {string} */ name) => !nothing(text[name]) && !fits(text[name]));
    if (name) return `${name} is ${told(text[name])}, ${rules.unfit[kind]}`;
  }
  if (!nothing(text.kv_lora_rank)) {
    if (text.use_mla === false) return rules.unused;
    if (!whole(text.qk_rope_head_dim)) return rules.unturned;
  }
  return "";
}

/**
 * Which fields, not read here, may change what is kept.
 * @param {any} text
 * @param {number | null} layers
 * @param {boolean} settled the kind of each layer is told, so fields that say which are of which kind add nothing
 * @param {boolean} windows there is a window
 * @param {any} rules
 */
function passed(text, layers, settled, windows, rules) {
  const here = [...rules.numbers, "bases", "wholes", "flags", "lists", "odd", "looks"];
  const known = new Set([...here.flatMap((what) => rules[what]), "attn_config", "sliding_window_pattern"]);
  const is = (/** @type {string} */ what, /** @type {string} */ name) => name.match(rules[what]);
  const names = Object.entries(text)
    .filter(([name, value]) => is("bears", name) || (Array.isArray(value) && value.length === layers))
    .filter(([name, value]) => !known.has(name) && !nothing(value) && !is("harmless", name) && !rules.plain.includes(value) && rules.usual[name] !== value)
    .filter(([name]) => !(settled && is("which", name)) && (windows || !is("windowed", name)))
    .map(([name]) => name);
  if (!names.length) return "";
  return `${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""} ${names.length === 1 ? "is" : "are"} ${rules.may}`;
}

/**
 * The numbers that fields say, and what is wrong with those that say them otherwise.
 * @param {any} text
 * @param {any} rules
 */
function numbers(text, rules) {
  /** @type {Record<string, number | null>} */
  const found = {};
  /** @type {Record<string, string>} */
  const unread = {};
  for (const what of rules.numbers) {
    /** @type {string[]} In models without d_kv, num_heads are the heads of a state. */
    const names = what === "heads" && whole(text.d_kv) ? [...rules.heads, "num_heads"] : rules[what];
    const all = names.filter((name) => whole(text[name]));
    if (what !== "window" && what !== "length" && new Set(all.map((name) => text[name])).size > 1) {
      unread[what] = all.map((name) => `${name} is ${text[name]}`).join(" and ");
      found[what] = null;
      continue;
    }
    const name = all.at(0);
    found[what] = name === undefined ? null : what === "length" ? Math.max(...all.map((name) => text[name]), stretched(text)) : text[name];
    // Where a window is, 0, -1 and false say that there is none.
    const wrong = names.find((name) => (what === "window" ? !nothing(text[name]) && text[name] !== -1 : given(text[name])));
    if (name === undefined && wrong) unread[what] = `${wrong} is ${told(text[wrong])}, ${rules.unfit.wholes}`;
  }
  return { found, unread };
}

/** The length for which YaRN stretches, or 0: who adds it by hand may leave the longest text as it was. @param {any} text */
function stretched(text) {
  const of = nothing(text.rope_parameters) ? text.rope_scaling : text.rope_parameters;
  const { type, rope_type = type, factor, original_max_position_embeddings: length } = isObject(of) ? of : {};
  return rope_type === "yarn" && whole(length) && positive(factor) ? Math.floor(length * factor) : 0;
}

/** @param {any} value */
const told = (value) => (typeof value === "string" ? `“${[...value].slice(0, 40).join("")}”` : typeof value === "object" && value ? "a list or an object" : String(value));

/** Whether a model may be one that reads a text at once, and writes none. @param {any} text @param {any} rules @returns {boolean} */
function reads(text, rules) {
  if (text.is_decoder === true) return false;
  if (text.causal === false || text.is_causal === false) return true;
  const names = text.architectures;
  if (Array.isArray(names) && names.length) return !names.some((name) => String(name).match(rules.writers));
  return Boolean(String(text.model_type).match(rules.readers)) || rules.images.some((/** @type {string} */ name) => !nothing(text[name]));
}

/** What a table has of a type of model. @param {any} text @param {any} table */
const byType = (text, table) => (typeof text.model_type === "string" && Object.hasOwn(table, text.model_type) ? table[text.model_type] : undefined);

/**
 * The kind of each layer, or why they can't be told.
 * @param {any} text
 * @param {Reading} out
 * @param {number | null} window
 * @param {any} own
 * @param {any} rules
 * @returns {string[] | string}
 */
function layers(text, out, window, own, rules) {
  const doubt = byType(text, rules.types) || unfit(text, rules);
  if (doubt) return doubt;
  const listed = rules.each.find((/** @type {string} */ name) => text[name]?.length);
  const said = listed && text[listed];
  const indices = text.attn_layer_indices?.length && text.attn_layer_indices;
  const sliding = nothing(text.sliding_window_pattern) ? null : text.sliding_window_pattern;
  const closed = text.use_sliding_window === false;
  const states = out.heads === null && !out.unread.heads && whole(text.state_size);
  const first = byType(text, rules.every);
  const every = first !== undefined && whole(text.global_attn_every_n_layers);
  const settled = Boolean(said || indices || states || every || whole(text.attn_layer_period) || whole(text.full_attention_interval));
  const other = passed(text, out.layers, settled, window !== null && !closed && !whole(sliding), rules);
  if (other) return other;
  const each = (/** @type {(at: number) => string} */ kind) => Array.from({ length: out.layers ?? 0 }, (_, at) => kind(at));
  /** @type {string[]} */
  let names;
  if (said) {
    const key = (/** @type {any} */ word) => (typeof word === "string" ? word : `${listed} ${JSON.stringify(word)}`);
    const odd = said.find((/** @type {any} */ word) => !Object.hasOwn(rules.kinds, key(word)));
    if (odd !== undefined) return `layers of the kind ${told(odd)} are not read here`;
    if (out.layers !== null && out.layers !== said.length) return `${said.length} listed layers are not the ${out.layers} that are counted`;
    names = said.map((/** @type {any} */ word) => rules.kinds[key(word)]);
  } else if (out.layers === null) return out.unread.layers ?? rules.no.layers;
  else if (out.layers > rules.most) return rules.many;
  else if (indices) {
    if (!indices.every((/** @type {any} */ at) => Number.isInteger(at) && at >= 0 && at < Number(out.layers))) return rules.absent;
    names = each((at) => (indices.includes(at) ? "full" : "linear"));
  } else if (whole(text.attn_layer_period)) {
    const first = text.attn_layer_offset || 0;
    if (first >= text.attn_layer_period) return `attn_layer_offset is ${first}, of a period of ${text.attn_layer_period}`;
    names = each((at) => (at % text.attn_layer_period === first ? "full" : "linear"));
  } else if (whole(text.full_attention_interval)) names = each((at) => ((at + 1) % text.full_attention_interval ? "linear" : "full"));
  else if (every) names = each((at) => ((at + first) % text.global_attn_every_n_layers ? "window" : "full"));
  else if (states) names = each(() => "linear");
  else if (out.unread.window && !closed) return out.unread.window;
  else if (own.each !== undefined && sliding === null && !closed) {
    if (!own.each || text.no_rope_layers?.length || text.no_rope_layer_interval) return rules.no.each;
    names = each((at) => rules.letters[own.each[at % own.each.length]]);
    out.by.each = "own";
  } else if (window === null || closed) names = each(() => (out.latent && whole(text.index_topk) ? "selected" : "full"));
  else if (sliding !== null && !whole(sliding)) return `sliding_window_pattern is ${told(sliding)}, ${rules.unfit.wholes}`;
  else if (sliding !== null) names = each((at) => ((at + 1) % sliding ? "window" : "full"));
  else if (rules.windows.includes(text.model_type)) names = each(() => "window");
  else return rules.no.windows;
  if (out.heads === null && !settled) return out.unread.heads ?? rules.no.heads;
  if (names.some(narrow) && window === null) return out.unread.window ?? rules.no.window;
  const shared = text.num_kv_shared_layers;
  if (whole(shared) && shared >= names.length) return `num_kv_shared_layers is ${shared}, of ${names.length} layers`;
  return whole(shared) ? names.map((name, at) => (at < names.length - shared ? name : "shared")) : names;
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
  const why = byType(text, rules.types);
  if (why !== undefined) return why;
  const odd = rules.odd.find((/** @type {string} */ name) => !nothing(text[name]));
  if (odd) return `${odd} ${rules.changes}`;
  if (!out.kinds) return doubt;
  const { kinds, latent, window } = out;
  if (Array.isArray(text.indexer_types) && text.indexer_types.some((/** @type {any} */ word) => word !== "full")) return rules.another;
  const keeps = Object.keys(kinds).filter((name) => narrow(name) || name === "full" || name === "selected");
  /** @type {(string | string[])[][]} */
  const products = (kinds.linear && rules.states.find((/** @type {any} */ [types]) => types.includes(text.model_type))?.[1]) || [];
  /** @type {(term: string | string[]) => number} */
  const term = (one) => (Array.isArray(one) ? one.reduce((sum, name) => sum + term(name), 0) : whole(text[one]) ? text[one] : NaN);
  const sum = products.reduce((sum, terms) => sum + terms.reduce((n, one) => n * term(one), 1), 0);
  // A state is as if of one token.
  const states = sum ? [{ layers: kinds.linear, terms: [sum], window: 1, state: true }] : [];
  if (!keeps.length) return states;
  if (!latent && !out.kept) return out.unread.kept ?? out.unread.heads ?? rules.no.heads;
  if (!latent && !out.head) return out.unread.head ?? rules.no.head;
  if (kinds.selected && !(latent && whole(text.index_head_dim))) return rules.no.choose;
  const [many, wide] = [Number(out.kept), Number(out.head)];
  const terms = latent ? [latent] : out.value ? [many, [wide, out.value]] : [2, many, wide];
  // A window that no text outgrows ends nothing.
  const ended = !(window && out.length && window >= out.length);
  return [...states, ...keeps.map((name) => ({
    layers: kinds[name],
    terms: name === "selected" && latent ? [[...latent, text.index_head_dim]] : terms,
    ...(narrow(name) && ended ? { window: Number(window) } : {}),
  }))];
}

/**
 * How places are told, as far as fields say it; `unread` gets a base that can't be used.
 * @param {any} text
 * @param {Record<string, string>} unread
 * @param {number[] | undefined} own bases of the class
 * @param {any} rules
 * @returns {Reading["positions"]}
 */
function places(text, unread, own, rules) {
  let word = text.position_embedding_type;
  if (text.alibi === true || word === "alibi") return { kind: "ALiBi" };
  if (word === "absolute" && rules.bases.some((/** @type {string} */ name) => positive(text[name]))) word = null;
  if (nothing(word) || word === "absolute") {
    const kind = Object.keys(rules.places).find((kind) => rules.places[kind].includes(text.model_type));
    if (kind) return { kind };
  }
  const bareBy = rules.bare.includes(word) ? "position_embedding_type" : text.mla_use_nope === true ? "mla_use_nope" : "";
  if (bareBy) return { kind: `none: ${bareBy} says so` };
  if (!nothing(word) && !rules.turned.includes(word)) return { kind: `position_embedding_type is ${told(word)}` };
  if (text.learned_pos_emb === true || text.use_learned_position_embeddings === true) return { kind: "learned" };
  const name = text.rope_parameters === undefined ? "rope_scaling" : "rope_parameters";
  const scaling = text[name];
  const denied = rules.denied.find((/** @type {string} */ name) => text[name] === false);
  if (!nothing(scaling) && !isObject(scaling)) unread.positions = `${name} is ${told(scaling)}, no object`;
  else if (denied) unread.positions = `${denied} is false`;
  if (unread.positions) return null;
  const parts = [text, ...(isObject(scaling) ? [scaling, ...Object.values(scaling).filter(isObject)] : [])];
  /** @type {[string, any][]} */
  const named = parts.flatMap((part) => rules.bases.map((/** @type {string} */ name) => [name, part[name]])).filter(([, value]) => given(value));
  const bases = named.map(([, value]) => value).filter(positive);
  const scalings = parts.slice(1);
  const types = scalings.map(({ type, rope_type = type }) => rope_type).filter((name) => typeof name === "string");
  const factors = scalings.map(({ factor }) => factor).filter(given);
  const wrong = factors.find((factor) => !positive(factor));
  if (wrong !== undefined) {
    unread.positions = `factor is ${told(wrong)}, no number above 0`;
    return null;
  }
  if (!named.length && !own && !types.length && !factors.length && !whole(text.rotary_dim)) return null;
  if (named.length && !bases.length) unread.base = `${named[0][0]} is ${told(named[0][1])}, no number above 0`;
  const factor = new Set(factors).size === 1 ? factors[0] : null;
  const said = types.filter((name) => !rules.unstretched.includes(name) && !(factor === 1 && rules.by_factor.includes(name)));
  const bare = text.no_rope_layers;
  const by = own && !named.length ? "own" : "";
  const all = [...new Set(by ? own : bases)].sort((a, b) => a - b);
  return { kind: "rotary", bases: all, by, stretched: said[0] ?? null, factor: factor === 1 ? null : factor, alpha: scalings.map(({ alpha }) => alpha).find(positive) ?? null, some: all.length > 1 && said.length === 1, bare: rules.bare_types.includes(text.model_type) ? null : !Array.isArray(bare) ? 0 : bare.length ? bare.filter((x) => x === 0 || x === false).length : null };
}

/** What a group of layers keeps of a token, in bytes. @param {Group} group */
export const groupBytes = ({ layers, terms }) => terms.reduce((/** @type {number} */ product, term) => product * (Array.isArray(term) ? term.reduce((a, b) => a + b) : term), layers * BYTES);

/** What each further token adds past all windows, in bytes; null if unknown. @param {Reading} reading */
export const tokenBytes = ({ cache }) => cache && cache.reduce((sum, group) => sum + (group.window === undefined ? groupBytes(group) : 0), 0);

/** The kinds of layers that hold what is not computed. @param {Reading} reading @param {any} rules */
export const uncounted = ({ kinds, cache }, rules) => Object.entries(kinds ?? {}).filter(([name]) => rules.held[name] && !(name === "linear" && cache?.some((group) => group.state)));

/** The length for which a reading is told. @param {Reading} reading @param {any} rules */
export const span = ({ length }, rules) => length ?? rules.length_taken;

/** What the cache holds of n tokens, with states where fields tell them; null if unknown. @param {Reading} reading @param {number} n @param {any} rules */
export function heldBytes(reading, n, rules) {
  const { cache } = reading;
  if (!cache || (!cache.length && uncounted(reading, rules).length)) return null;
  return cache.reduce((sum, group) => sum + groupBytes(group) * Math.min(n, group.window ?? n), 0);
}

/** @param {number | null} bytes */
function size(bytes) {
  if (bytes === null) return "unknown";
  const [unit, name] = bytes >= 2 ** 30 ? [2 ** 30, "GiB"] : [2 ** 20, "MiB"];
  const tenths = Math.floor((bytes * 20 + unit) / (2 * unit));
  return `${grouped(Math.floor(tenths / 10))}.${tenths % 10} ${name}`;
}

/**
 * A reading in words.
 * @param {Reading} found
 * @param {any} rules
 * @param {number | null} before bytes that were kept
 * @returns {[string, string[]][]}
 */
export function summary(found, rules, before = null) {
  const { kinds, layers, window, length, unread, by } = found;
  const unknown = (/** @type {string} */ what) => `unknown: ${unread[what] ?? rules.no.it}`;
  let counted = layers === null ? unknown("layers") : grouped(layers) + source(by, "layers", rules);
  if (kinds) {
    const each = Object.entries(kinds).map(([name, count]) => `${count} ${rules.words[name].replace("#", grouped(window ?? 0))}`);
    counted += each.length > 1 ? `: ${each.join(", ")}` : `, all ${each[0].slice(each[0].indexOf(" ") + 1)}`;
    if (by.each) counted += rules.which_own;
  } else if (layers) counted += "; of which kinds is unknown";
  return [
    ["layers", [counted]],
    ["heads", [inHeads(found, rules) || unknown("heads")]],
    ["cache", inCache(found, rules)],
    ["in all", [inAll(found, rules) + (before === null ? "" : `; before ${size(before)}`)]],
    ...inWindow(found, rules),
    ["positions", [inPlaces(found, rules) || unknown("positions")]],
    ["made for", [length === null ? unknown("length") : `${grouped(length)} tokens${source(by, "length", rules)}`]],
  ];
}

const plural = (/** @type {number} */ many) => `${many} layer${many === 1 ? "" : "s"}`;
const real = (/** @type {number} */ number) => (Number.isInteger(number) ? grouped(number) : String(number));

/** Where a value comes from that no field says. @param {Record<string, string>} by @param {string} what @param {any} rules */
const source = (by, what, rules) => (by[what] ? ` (${by[what] === "own" ? rules.own : rules.taken[what]})` : "");

/** @param {Reading} found @param {any} rules */
function inAll(found, rules) {
  const n = span(found, rules);
  const held = heldBytes(found, n, rules);
  return `${size(held)} at ${grouped(n)} tokens${found.length ? `, its longest text${source(found.by, "length", rules)}` : rules.ours}${held && uncounted(found, rules).length ? rules.aside : ""}`;
}

/** What the line of layers does not say of a window: whence it is known, or why it is not. @param {Reading} found @param {any} rules @returns {[string, string[]][]} */
function inWindow({ kinds, window, unread, by }, rules) {
  if (kinds && !by.window) return [];
  return [["window", [!kinds ? `unknown: ${unread.window ?? unread.kinds}` : window ? `${grouped(window)} tokens${source(by, "window", rules)}` : rules.unsaid]]];
}

/** @param {Reading} found @param {any} rules */
function inHeads({ heads, kept, head, value, latent, kinds, unread, by }, rules) {
  if (heads === null) return kinds && Object.keys(kinds).every((name) => ["linear", "convolution", "none"].includes(name)) ? "none: no layer has a softmax" : "";
  const asked = `${grouped(heads)} of queries${source(by, "heads", rules)}`;
  if (latent) return `${asked}; keys and values are made from a latent of ${latent.map(grouped).join(" + ")}`;
  const wide = head === null ? "" : `, each ${grouped(head)} wide${source(by, "head", rules)}${value && value !== head ? ` (values ${grouped(value)})` : ""}`;
  if (kept === null) return `${asked}; keys and values are unknown: ${unread.kept}`;
  const shared = heads > kept ? `: ${heads / kept} heads of queries share one` : "";
  return `${asked}, ${grouped(kept)} of keys and values${source(by, "kept", rules)}${wide}${shared}`;
}

/** @param {Reading} found @param {any} rules */
function inCache(found, rules) {
  const { cache, why, reads, foreign, more } = found;
  const left = more.length ? [rules.more + more.join(", ")] : [];
  if (!cache) return [`unknown: ${why}`, ...left];
  const last = (/** @type {Group} */ group) => Number(group.window !== undefined);
  const grow = [...cache]
    .sort((a, b) => last(a) - last(b))
    .map((group) => {
      const terms = group.terms.map((term) => (Array.isArray(term) ? `(${term.map(grouped).join(" + ")})` : grouped(term)));
      const limit = group.window === undefined ? "" : `, for the last ${grouped(group.window)} tokens only`;
      return `${plural(group.layers)} × ${terms.join(" × ")} × ${BYTES} bytes = ${grouped(groupBytes(group))}${group.state ? rules.stays : ` bytes a token${limit}`}`;
    });
  if (!grow.length) grow.push("0 bytes a token");
  for (const [name, many] of uncounted(found, rules)) grow.push(`and ${rules.held[name]} in ${plural(many)}, ${rules.apart}`);
  if (reads) grow.push(rules.if);
  if (foreign) grow.push(rules.foreign);
  return [...grow, ...left];
}

/** @param {Reading} found @param {any} rules */
function inPlaces({ positions, unread }, rules) {
  if (!positions || positions.kind !== "rotary") return positions?.kind ?? "";
  const { bases = [], by: own, stretched, factor, alpha, some, bare } = positions;
  const base = bases.length ? `, base ${bases.map(real).join(" and ")}${own ? ` (${rules.own})` : ""}` : unread.base ? `, base unknown: ${unread.base}` : ", base not said";
  const by = stretched ? `, ${some ? "in some layers " : ""}stretched${factor ? ` by ${real(factor)}` : ""} (${stretched}${alpha ? `, alpha ${real(alpha)}` : ""})` : "";
  return `rotary${base}${by}${bare === null ? rules.bare_own : bare ? `; ${plural(bare)} without` : ""}`;
}

/**
 * Every field in its order, those of nested objects behind the object's own. In a part that is not read a name may
 * mean something else: `known` says whether it stands in none.
 * @param {Read} read
 * @param {any} rules
 * @returns {{ path: string, name: string, value: string, known: boolean }[]}
 */
export function listed(read, rules) {
  /** @type {{ path: string, name: string, value: string, known: boolean }[]} */
  const out = [];
  const walk = (/** @type {Read} */ object, /** @type {string} */ path, /** @type {boolean} */ known) => {
    if (object.kind !== "object") return;
    for (const { name, value } of object.fields) {
      out.push({ path, name, value: inWords(value), known });
      walk(value, `${path}${name}.`, known && (`${path}${name}`.includes("rope_") || [...rules.inside, ...rules.parts].includes(name)));
    }
  };
  walk(read, "", true);
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
