// Play: a pill with a triangle in every figure; filled where it is what to press first.
import { h } from "./dom.js";

/**
 * @param {() => void} click
 * @param {boolean} [first]
 * @returns {{ play: HTMLButtonElement, going: (on: boolean) => void }} `going` says what a press would do now
 */
export function player(click, first) {
  const play = h("button", { type: "button", "data-part": "play", class: `attnlab-play${first ? " attnlab-act" : ""}`, on: { click } });
  const going = (/** @type {boolean} */ on) => {
    play.textContent = on ? "Pause" : "Play";
    play.classList.toggle("is-going", on);
  };
  going(false);
  return { play, going };
}
