// A configuration read in the page: what Python reads in all of the census's, and what is said of texts that are no JSON.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { golden } from "./compare.mjs";
import { grouped, listed, reading, summary, tokenBytes } from "../../src/widgets/math/configuration.js";
import { parse, plain } from "../../src/widgets/math/json.js";

const stored = JSON.parse(readFileSync(new URL("../../benchmarks/results/configurations.json", import.meta.url), "utf8")).configurations;
const { rules, models, odd } = golden("configuration");
const of = (config) => plain(parse(typeof config === "string" ? config : JSON.stringify(config)));
const said = (config) => Object.fromEntries(summary(reading(of(config), rules), rules));
const fails = (text) => {
  try {
    parse(text);
  } catch ({ message }) {
    return message;
  }
  return "read";
};

test("each configuration of the census reads as in Python, and in the same words", () => {
  assert.deepEqual(Object.keys(models), Object.keys(stored));
  assert.ok(Object.keys(models).length > 160);
  for (const [name, want] of Object.entries(models)) {
    const { order, ...got } = reading(of(stored[name]), rules);
    const many = {};
    for (const kind of order ?? []) many[kind] = (many[kind] ?? 0) + 1;
    assert.deepEqual(order && many, got.kinds, name);
    assert.deepEqual(JSON.parse(JSON.stringify(got)), want.reading, name);
    assert.equal(tokenBytes(got), want.bytes, name);
    assert.deepEqual(summary(got, rules), want.summary, name);
  }
});

test("values that can't be used, states, encoders and bases that no field says are told in the same words", () => {
  assert.ok(odd.length > 60);
  for (const { config, ...want } of odd) {
    const { order, ...got } = reading(of(config), rules);
    assert.deepEqual(JSON.parse(JSON.stringify(got)), want.reading);
    assert.equal(tokenBytes(got), want.bytes);
    assert.deepEqual(summary(got, rules), want.summary);
  }
  assert.deepEqual(said({ num_hidden_layers: "32" }).layers, ["unknown: num_hidden_layers is “32”, no whole number above 0"]);
});

test("kinds of layers come in their order, where each can be told from the next", () => {
  const order = (config) => reading(of(config), rules).order;
  assert.deepEqual(order({ layer_types: ["full_attention", "sliding_attention", "full_attention"], sliding_window: 4, n_head: 1 }), ["full", "window", "full"]);
  assert.equal(order({ n_layer: 160, n_head: 1 }).length, 160);
  assert.equal(order({ n_layer: 161, n_head: 1 }), null);
  assert.equal(order({ layer_types: ["a"] }), null);
});

test("a configuration without the newer lists of layers", () => {
  const gemma = { model_type: "gemma3_text", num_hidden_layers: 7, num_attention_heads: 4, head_dim: 8, sliding_window: 5, sliding_window_pattern: 3 };
  assert.deepEqual(said(gemma).layers, ["7: 5 with a window of 5 tokens, 2 full"]);
  delete gemma.sliding_window_pattern;
  assert.deepEqual(said(gemma).layers, ["7: 6 with a window of 5 tokens, 1 full; which is which its class says, not the file"]);
  delete gemma.model_type;
  assert.deepEqual(said(gemma).cache, ["unknown: no field read here says which layers have the window"]);
  const inside = { model_type: "gemma3", vision_config: { num_attention_heads: 99 }, text_config: { num_hidden_layers: 2 } };
  assert.deepEqual(said(inside).heads, ["unknown: no field read here says it"]);
  assert.equal(reading(of(inside), rules).inside, "text_config.");
});

test("nothing in a text leads to what an object inherits", () => {
  for (const word of ["constructor", "__proto__", "toString"]) {
    assert.deepEqual(said(`{"model_type": "${word}", "layer_types": ["${word}"], "num_hidden_layers": 1}`).cache, [`unknown: layers of the kind “${word}” are not read here`]);
    assert.equal(said(`{"${word}": {"num_hidden_layers": 3}}`).layers[0], "unknown: no field read here says it");
  }
});

test("in a part that is not read a name may mean something else", () => {
  const text = '{"type": 1, "quantization_config": {"type": "int", "deep": {"window_size": 2}}, "text_config": {"rope_scaling": {"full_attention": {"type": "yarn"}}}}';
  const known = listed(parse(text), rules).filter((field) => field.known).map(({ path, name }) => path + name);
  assert.deepEqual(known, ["type", "quantization_config", "text_config", "text_config.rope_scaling", "text_config.rope_scaling.full_attention", "text_config.rope_scaling.full_attention.type"]);
});

test("fields keep their order, and lists say once what repeats", () => {
  const rows = listed(parse('{"b": 1.50, "2": [1,1,1,1], "1": {"x": ["a","b","a","b","a","b"], "y": []}, "c": [1,2,2,2], "d": {}}'), rules);
  assert.deepEqual(rows.map(({ path, name, value }) => [path + name, value]), [
    ["b", "1.50"], ["2", "[1] × 4"], ["1", "2 fields"], ["1.x", '["a", "b"] × 3'], ["1.y", "[]"], ["c", "[1, 2 × 3]"], ["d", "0 fields"],
  ]);
  assert.equal(listed(parse(`{"a": "${"x".repeat(1000)}"}`), rules)[0].value.length, 161);
});

test("what is no JSON is told with its line, its column and its reason", () => {
  for (const [text, want] of [
    ['{"a": 1,}', "line 1, column 8: a comma before the closing “}”."],
    ['{"a": [1, 2,\n ]}', "line 1, column 12: a comma before the closing “]”."],
    ['{\n  "a": 1, // so\n}', "line 2, column 11: a comment."],
    ['{\n  # so\n}', "line 2, column 3: a comment."],
    ['{"a": /* so */ 1}', "column 7: a comment."],
    ['{"a": True}', "column 7: True is Python. JSON writes true."],
    ['{"a":\r\n None}', "line 2, column 2: None is Python. JSON writes null."],
    ["{'a': 1}", "column 2: a single quote."],
    ["{a: 1}", "column 2: the name of a field, in double quotes, should stand here, and there is “a”."],
    ['{"a" 1}', "column 6: a colon should follow"],
    ['{"a": 1 "b": 2}', "column 9: after a field a comma or “}” should stand, and there is “\"”."],
    ['{"a": 1', "column 8: after a field a comma or “}” should stand, and there is the end of the text."],
    ['{"a": "b\n"}', "column 7: a text starts here"],
    ['{"a": 01}', "column 7: a number that JSON does not know"],
    ['{"a": 1_000}', "a number that JSON does not know"],
    ['{"a": yes}', "“yes” is no value"],
    ['{"a": "\\x"}', "column 8: \\x means nothing"],
    ['{"a": 1} {', "the configuration has ended"],
    ["model", "“model” is no value"],
    ["<b>", "column 1: a value should stand here, and there is “<”."],
    ["[".repeat(100), "more than 60 objects or lists"],
  ]) {
    assert.ok(fails(text).includes(want), `${text}: ${fails(text)}`);
  }
  assert.equal(fails(" \n "), "There is nothing to read yet.");
});

test("it reads what JSON.parse reads, and what Python writes beside it", () => {
  for (const text of ['"\\u00e9\\n\\"\\\\"', "-1.5e-3", "[true, false, null, 0, 10]", ' {"a": {"b": [[], {}]}} ', "1e5", '"\u00e9\u{1F600}"']) assert.deepEqual(JSON.parse(JSON.stringify(plain(parse(text)))), JSON.parse(text));
  assert.deepEqual(plain(parse("[NaN, -Infinity, Infinity]")), [NaN, -Infinity, Infinity]);
  assert.equal(plain(parse("\uFEFF1")), 1);
  for (const value of Object.values(stored)) assert.deepEqual(JSON.parse(JSON.stringify(plain(parse(JSON.stringify(value))))), value);
});

test("digits in groups of three", () => assert.deepEqual([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]));
