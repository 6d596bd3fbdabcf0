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
  const el = /** @type {any} */ ({ clientWidth: 300 });
  const ended = new AbortController();
  onResize(el, ended.signal, (...given) => calls.push(`then ${given.length}`));
  assert.deepEqual(calls, ["new", el, "then 0"]);
  ended.abort();
  assert.deepEqual(calls.slice(3), ["disconnected"]);
});

test("no figure watches a size by itself", () => {
  const source = new URL("../../src/widgets/", import.meta.url);
  const own = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".js") && readFileSync(new URL(file, source), "utf8").includes("new ResizeObserver"),
  );
  assert.deepEqual(own, ["ui/dom.js"]);
});
