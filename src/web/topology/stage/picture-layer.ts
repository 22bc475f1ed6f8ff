import { labelSizes, minPortScale } from "../graph/labels.ts";
import type { Area, View } from "./view.ts";

/** The drawing is rendered for its new scale after no zoom for this time, ms. */
const redrawDelayMs = 120;
/** Labels of nodes that are smaller than this on the screen, in px, cannot be read, and are hidden to save time. */
const minLegible = 6;
const labelSize = 13;

interface PictureStart {
  readonly view: View;
  readonly area: Area;
  /** The largest factor by which the labels of nodes can grow without covering each other. */
  readonly growth: number;
}

export interface PictureLayer {
  /** Moves the drawing without redrawing it. */
  show(view: View): void;
  /** Sets the area that the drawing covers, and by which factor its labels can grow; the view stays. */
  cover(area: Area, growth: number): void;
  close(): void;
}

/**
 * Puts the drawing on a compositor layer, which is moved as a bitmap: panning a lab of hundreds of nodes causes no layout and no paint. A zoom scales
 * the bitmap, and redraws it when the zoom has ended.
 *
 * @param layer - the HTML element around the drawings, which gets the transform: Chromium 150 lays out every text of an `svg` whose own transform changes.
 */
export function pictureLayer(layer: HTMLElement, initial: PictureStart): PictureLayer {
  let { view, area, growth } = initial;
  let drawnScale = 0;
  let redrawTimer: ReturnType<typeof setTimeout> | undefined;
  const move = () => {
    const { x, y, scale } = view;
    layer.style.transform = `translate(${x + area.left * scale}px, ${y + area.top * scale}px) scale(${scale / drawnScale})`;
  };
  const draw = () => {
    clearTimeout(redrawTimer);
    redrawTimer = undefined;
    drawnScale = view.scale;
    for (const svg of layer.querySelectorAll(":scope > svg")) {
      svg.setAttribute("viewBox", `${area.left} ${area.top} ${area.width} ${area.height}`);
      svg.setAttribute("width", String(area.width * drawnScale));
      svg.setAttribute("height", String(area.height * drawnScale));
    }
    const sizes = labelSizes(drawnScale, growth);
    layer.style.setProperty("--label", String(sizes.node));
    layer.style.setProperty("--port", String(sizes.port));
    layer.classList.toggle("far", drawnScale < minPortScale);
    layer.classList.toggle("farther", drawnScale * sizes.node * labelSize < minLegible);
    move();
  };
  draw();
  return {
    show: (next) => {
      view = next;
      if (view.scale !== drawnScale) {
        clearTimeout(redrawTimer);
        redrawTimer = setTimeout(draw, redrawDelayMs);
      }
      move();
    },
    cover: (next, nextGrowth) => {
      [area, growth] = [next, nextGrowth];
      draw();
    },
    close: () => clearTimeout(redrawTimer),
  };
}
