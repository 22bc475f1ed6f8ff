import type { Area, View } from "./view.ts";

/** How long nothing must have zoomed before the picture is drawn sharp for its new scale, ms. */
const settledMs = 120;
/** Below these scales texts could not be read anyway, and cost time to draw: the names of interfaces, then those of nodes. */
const legible = { port: 0.55, label: 0.25 };

export interface Sheet {
  /** Moves the picture. Called at most once for each event: it draws nothing anew. */
  show(view: View): void;
  /** What the picture covers now; the view stays. */
  cover(area: Area): void;
  close(): void;
}

/**
 * The picture as a layer of its own, which the compositor moves as a bitmap: panning a lab of hundreds of nodes neither lays out nor paints anything.
 * A zoom scales the bitmap, and draws it anew once it has ended.
 *
 * @param layer - the HTML element around `svg`. The transform belongs to it: Chromium 150 lays out every text of an `svg` whose own transform changes.
 */
export function sheetOf(layer: HTMLElement, svg: SVGSVGElement, begin: { readonly view: View; readonly area: Area }): Sheet {
  let { view, area } = begin;
  let drawn = 0;
  let settling: ReturnType<typeof setTimeout> | undefined;
  const place = () => {
    const { x, y, scale } = view;
    layer.style.transform = `translate(${x + area.left * scale}px, ${y + area.top * scale}px) scale(${scale / drawn})`;
  };
  const draw = () => {
    clearTimeout(settling);
    settling = undefined;
    drawn = view.scale;
    svg.setAttribute("viewBox", `${area.left} ${area.top} ${area.width} ${area.height}`);
    svg.setAttribute("width", String(area.width * drawn));
    svg.setAttribute("height", String(area.height * drawn));
    svg.classList.toggle("far", drawn < legible.port);
    svg.classList.toggle("farther", drawn < legible.label);
    place();
  };
  draw();
  return {
    show: (next) => {
      view = next;
      if (view.scale !== drawn) {
        clearTimeout(settling);
        settling = setTimeout(draw, settledMs);
      }
      place();
    },
    cover: (next) => {
      area = next;
      draw();
    },
    close: () => clearTimeout(settling),
  };
}
