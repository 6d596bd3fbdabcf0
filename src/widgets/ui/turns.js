// Long work in short turns: the page keeps its frames, and works only while somebody sees the figure.

/** Milliseconds that it works before it lets the page have its turn: half a frame. */
const SLICE = 7;

/**
 * @param {{ el: Element, signal: AbortSignal, work: () => boolean | "frame", due: () => boolean, draw: () => void }} given `work` does a piece, and
 *   says whether there is more, or more that waits for the next frame; `draw` has a turn of its own where it is `due`: on a slow phone it is as long
 * @returns {{ wake: () => void }}
 */
export function turns({ el, signal, work, due, draw }) {
  // A message to itself comes back behind whatever else the page has to do, and without the pause of a timer.
  const channel = new MessageChannel();
  let [waiting, seen, drawn] = [false, true, false];
  let more = /** @type {boolean | "frame"} */ (false);
  const wake = () => {
    if (waiting || !seen || document.hidden || !more) return;
    waiting = true;
    if (more === "frame") requestAnimationFrame(turn);
    else channel.port2.postMessage(0);
  };
  channel.port1.onmessage = turn;
  function turn() {
    waiting = false;
    drawn = !drawn && due();
    if (!drawn) {
      const until = performance.now() + SLICE;
      do more = work();
      while (more === true && performance.now() < until);
    }
    if (drawn || (!more && due())) draw();
    wake();
  }
  const watcher = new IntersectionObserver((entries) => {
    seen = entries[entries.length - 1].isIntersecting; // what came before is past
    wake();
  });
  watcher.observe(el);
  document.addEventListener("visibilitychange", wake, { signal });
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    channel.port1.close();
  });
  return {
    wake() {
      more = true;
      wake();
    },
  };
}
