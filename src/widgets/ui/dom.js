// Small helpers for building elements. Text always goes in as text: nothing here parses HTML.

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; `on` holds listeners; null and false leave one out
 * @param {...(Node | string | null | undefined)} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "on") for (const [event, listener] of Object.entries(value)) el.addEventListener(event, listener);
    else if (value === true) el.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) el.setAttribute(key, String(value));
  }
  el.append(...children.filter((child) => child !== null && child !== undefined));
  return el;
}

/**
 * Make an SVG element.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string)} children
 */
export function s(tag, props = {}, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(props)) el.setAttribute(key, String(value));
  el.append(...children);
  return el;
}

/**
 * The paper around a letter that stands over lines.
 * @param {number} [width]
 */
export const halo = (width = 4) => ({ stroke: "var(--fig-paper)", "stroke-width": width, "stroke-linejoin": "round", "paint-order": "stroke" });

/**
 * Put in what is to be seen now. What has a name (`data-key`) and stands there already stays and takes the other's looks,
 * so that a change is seen as one: style.css lets it move.
 * @param {Element} parent
 * @param {...Node} nodes
 */
export function renew(parent, ...nodes) {
  const name = (/** @type {any} */ node) => node.dataset?.key;
  const wanted = new Set(nodes.map(name));
  /** @type {Map<string, any>} */
  const standing = new Map();
  for (const old of [...parent.childNodes]) {
    if (wanted.has(name(old)) && name(old)) standing.set(name(old), old);
    else if (name(old)) fade(/** @type {Element} */ (old));
    else if (!leaves(old)) old.remove();
  }
  let at = parent.firstChild;
  for (const node of nodes) {
    while (leaves(at)) at = /** @type {Node} */ (at).nextSibling;
    const old = standing.get(name(node));
    if (old) take(old, /** @type {Element} */ (node));
    if (at && at === old) at = at.nextSibling;
    else parent.insertBefore(old ?? node, at);
  }
}

/** @param {Element} old @param {Element} node */
function take(old, node) {
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) old.setAttribute(name, value);
  renew(old, ...node.childNodes);
}

/** Whether something is on its way out. @param {any} node */
const leaves = (node) => Boolean(node?.dataset && "gone" in node.dataset);

/** Let something go, at once where nothing moves. @param {Element} el */
async function fade(el) {
  el.removeAttribute("data-key");
  el.setAttribute("data-gone", "");
  await Promise.allSettled(el.getAnimations().map((one) => one.finished));
  el.remove();
}

/**
 * Write a number with a fixed number of digits, a real minus sign and no "-0.00".
 * @param {number} x
 * @param {number} [digits]
 */
export function fmt(x, digits = 2) {
  if (x === -Infinity) return "−∞";
  if (Math.abs(x) >= 1e5) return x.toExponential(1).replace("-", "−");
  const text = x.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/**
 * A row of choices of which one is on; arrow keys move, as in a radio group.
 * @param {{ label: string, options: { value: string, text: string }[], value: string,
 *   part: string, onChange: (value: string) => void }} given
 */
export function choices({ label, options, value, part, onChange }) {
  const buttons = options.map((option) =>
    h(
      "button",
      {
        type: "button",
        role: "radio",
        "aria-checked": option.value === value ? "true" : "false",
        tabindex: option.value === value ? 0 : -1,
        "data-value": option.value,
        on: { click: () => onChange(option.value) },
      },
      option.text,
    ),
  );
  const group = h("div", { class: "attnlab-choices", role: "radiogroup", "aria-label": label, "data-part": part });
  group.append(...buttons);
  group.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = buttons.findIndex((button) => button === event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = buttons[(at + step + buttons.length) % buttons.length];
    select(group, next.dataset.value);
    next.focus();
    onChange(next.dataset.value);
  });
  return group;
}

/**
 * Show which choice is on.
 * @param {HTMLElement} group what `choices` returned
 * @param {string} value
 */
export function select(group, value) {
  for (const button of group.querySelectorAll("button")) {
    const on = button.dataset.value === value;
    button.setAttribute("aria-checked", String(on));
    button.tabIndex = on ? 0 : -1;
  }
}

/**
 * Shade a cell by a weight from 0 to 1. At most about half: the number on top must read in light and dark.
 * @param {HTMLElement} el
 * @param {number} weight
 * @param {string} [role] query, key, value or output
 */
export function shade(el, weight, role = "query") {
  const part = Math.round(52 * Math.min(Math.max(weight, 0), 1) * 10) / 10;
  el.style.backgroundColor = `color-mix(in srgb, var(--fig-${role}) ${part}%, transparent)`;
}

/** The light colours of the page: a saved drawing stands alone, without the page's variables. */
const COLOURS = {
  query: "#0069a8", key: "#b04a00", value: "#00795a", output: "#a0307a", accent: "#8a6100",
  ink: "#1b1f24", quiet: "#57606a", line: "#d5dae0", paper: "#ffffff", tint: "#f4f6f8",
};

/**
 * Write a drawing as text that stands alone.
 * @param {any} svg an svg element
 */
export function standalone(svg) {
  const copy = svg.cloneNode(true);
  copy.removeAttribute("style");
  const { width, height } = svg.viewBox.baseVal;
  for (const [key, value] of Object.entries({ width, height, "font-family": "system-ui, sans-serif" })) copy.setAttribute(key, String(value));
  const text = new XMLSerializer().serializeToString(copy);
  return Object.entries(COLOURS).reduce((written, [role, colour]) => written.replaceAll(`var(--fig-${role})`, colour), text);
}

/**
 * Where a pointer is, in a drawing's own units.
 * @param {any} svg whose viewBox starts at 0, 0
 * @param {MouseEvent} event
 * @returns {[number, number]}
 */
export function spot(svg, event) {
  const box = svg.getBoundingClientRect();
  const { width, height } = svg.viewBox.baseVal;
  return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
}

/**
 * Whether a pointer came down with the first button alone. What opens a menu moves nothing: a right button, and on
 * some machines the first one with Control.
 * @param {PointerEvent} event
 */
export const first = ({ button, ctrlKey }) => button === 0 && !ctrlKey;

/** Whether nothing may move: nobody sees it, or somebody wants it still. */
export const calm = () => document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * Call back when an element is first laid out, and whenever its size has changed. What is drawn then stands at once:
 * a new size is no change that is to be seen.
 * @param {Element} el
 * @param {AbortSignal} signal ends it
 * @param {() => void} then
 */
export function onResize(el, signal, then) {
  const watcher = new ResizeObserver(() => {
    const root = el.closest(".attnlab-root:not(.is-held)");
    root?.classList.add("is-held");
    then();
    if (!root) return;
    el.getBoundingClientRect(); // settles the new places while nothing may move
    root.classList.remove("is-held");
  });
  watcher.observe(el);
  signal.addEventListener("abort", () => watcher.disconnect());
}

/**
 * Call back while the pointer that went down on an element moves, wherever it goes.
 *
 * A finger that goes down on a handle moves the handle. On a large area it scrolls the page, as everywhere else.
 * @param {Element} el
 * @param {AbortSignal} signal ends it all
 * @param {(event: PointerEvent) => void} onDrag
 * @param {{ area?: boolean }} [given] `area`: fingers pass
 */
export function draggable(el, signal, onDrag, { area = false } = {}) {
  // Only this keeps a browser from scrolling: `touch-action` has no effect on parts of a drawing.
  if (!area) el.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false, signal });
  el.addEventListener(
    "pointerdown",
    (event) => {
      const down = /** @type {PointerEvent} */ (event);
      if (!first(down) || (area && down.pointerType === "touch")) return;
      const ended = new AbortController();
      el.setPointerCapture(down.pointerId);
      el.addEventListener("pointermove", (event) => onDrag(/** @type {PointerEvent} */ (event)), {
        signal: AbortSignal.any([signal, ended.signal]),
      });
      for (const name of ["pointerup", "pointercancel"]) el.addEventListener(name, () => ended.abort(), { once: true });
    },
    { signal },
  );
}
