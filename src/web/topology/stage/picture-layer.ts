import type { Area, View } from "./view.ts";

/** The drawing is rendered for its new scale after no zoom for this time, ms. */
const redrawDelayMs = 120;
/** Below these scales, names of interfaces and labels of nodes are too small to read, and are hidden to save time. */
const minLegibleScale = { port: 0.55, label: 0.25 };

export interface PictureLayer {
  /** Moves the drawing without redrawing it. */
  show(view: View): void;
  /** Sets the area that the drawing covers; the view stays. */
  cover(area: Area): void;
  close(): void;
}

/**
 * Puts the drawing on a compositor layer, which is moved as a bitmap: panning a lab of hundreds of nodes causes no layout and no paint. A zoom scales
 * the bitmap, and redraws it when the zoom has ended.
 *
 * @param layer - the HTML element around `svg`, which gets the transform: Chromium 150 lays out every text of an `svg` whose own transform changes.
 */
export function pictureLayer(layer: HTMLElement, svg: SVGSVGElement, initial: { readonly view: View; readonly area: Area }): PictureLayer {
  let { view, area } = initial;
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
    svg.setAttribute("viewBox", `${area.left} ${area.top} ${area.width} ${area.height}`);
    svg.setAttribute("width", String(area.width * drawnScale));
    svg.setAttribute("height", String(area.height * drawnScale));
    svg.classList.toggle("far", drawnScale < minLegibleScale.port);
    svg.classList.toggle("farther", drawnScale < minLegibleScale.label);
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
    cover: (next) => {
      area = next;
      draw();
    },
    close: () => clearTimeout(redrawTimer),
  };
}
