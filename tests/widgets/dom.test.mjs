// The helpers that stand on the browser, against stand-ins for what they call.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { onResize } from "../../src/widgets/ui/dom.js";

test("a width is watched until the figure ends", (t) => {
  const calls = [];
  t.after(() => delete globalThis.ResizeObserver);
  globalThis.ResizeObserver = class {
    constructor(/** @type {(...given: any[]) => void} */ changed) {
      calls.push("new");
      this.changed = changed;
    }
    observe(/** @type {any} */ el) {
      calls.push(el);
      this.changed([{ target: el }], this);
    }
    disconnect() {
      calls.push("disconnected");
    }
  };
  const classList = { add: (/** @type {string} */ name) => calls.push(`+${name}`), remove: (/** @type {string} */ name) => calls.push(`-${name}`) };
  let root = /** @type {any} */ ({ classList });
  const el = /** @type {any} */ ({ closest: () => root, getBoundingClientRect: () => calls.push("settled") });
  const ended = new AbortController();
  const then = (/** @type {any[]} */ ...given) => calls.push(`then ${given.length}`);
  onResize(el, ended.signal, then);
  assert.deepEqual(calls, ["new", el, "+is-held", "then 0", "settled", "-is-held"]);
  ended.abort();
  assert.deepEqual(calls.splice(0).slice(6), ["disconnected"]);
  // No root around it, or one that a hand holds already: nothing is let go.
  root = null;
  onResize(el, ended.signal, then);
  assert.deepEqual(calls, ["new", el, "then 0"]);
});

test("no figure watches a size by itself", () => {
  const source = new URL("../../src/widgets/", import.meta.url);
  const own = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".js") && readFileSync(new URL(file, source), "utf8").includes("new ResizeObserver"),
  );
  assert.deepEqual(own, ["ui/dom.js"]);
});
