import type { Inset, Size } from "./view.ts";

/** Opened tools may cover more, px. */
const maxInset = 100;
/** Opened details of the bar of changes may cover more, px. */
const maxBottom = 120;
/** Part of the width that the palette may cover for the drawing to be fitted beside it. */
const maxCovered = 0.75;
/** A lower stage, such as one below a maximised drawer, shows no drawing, px. */
export const minHeight = 120;

export function sizeOf({ clientWidth: width, clientHeight: height }: HTMLElement): Size {
  return { width, height };
}

/** Returns the element of the bars over the lower edge of a stage; null if there are none. */
export function barsOf(stage: HTMLElement): Element | null {
  return stage.closest(".drawing")?.querySelector(":scope > .bars") ?? null;
}

/** Returns the part of the stage that the tools, the palette and the bar of changes cover. */
export function coveredOf(stage: HTMLElement): Inset {
  const { top, left, bottom } = stage.getBoundingClientRect();
  const tools = stage.parentElement!.querySelector(":scope > .tools")?.getBoundingClientRect();
  const palette = stage.closest(".drawing")?.querySelector(":scope > .palette")?.getBoundingClientRect();
  // A result that stands there alone disappears soon.
  const bar = barsOf(stage)?.querySelector(".change-bar:has(> .buttons)")?.getBoundingClientRect();
  const covered = (palette?.right ?? left) - left;
  return {
    top: Math.max(0, Math.min((tools?.bottom ?? top) - top, maxInset)),
    // Beside a palette that leaves hardly any room the drawing would be too small.
    left: covered > sizeOf(stage).width * maxCovered ? 0 : covered,
    bottom: Math.max(0, Math.min(bottom - (bar?.top ?? bottom), maxBottom)),
  };
}
