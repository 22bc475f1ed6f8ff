import { cssColor } from "../../../intent/shapes/color.ts";
import { lineStyles, shapeTypes } from "../../../intent/shapes/shape.ts";
import { type Draft, type DraftPlace, positionOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";

/** Reads positions and texts of the file that the drawing tools of containerlab write beside a lab. Returns its parts; undefined: there is none, or it is not a JSON. */
export function readAnnotations(draft: Draft, files: SourceFiles, path: string, places: ReadonlyMap<string, DraftPlace>): Part | undefined {
  const base = path.replace(/\.ya?ml$/i, "");
  const name = [`${path}.annotations.json`, `${base}.annotations.json`].find((each) => files.beside("", each) !== undefined);
  const tree = name === undefined ? undefined : files.treeIf(name, "json");
  if (name === undefined || tree === undefined) return undefined;
  const root = Part.of(tree, name);
  const nodes = [root.get("nodeAnnotations"), root.get("cloudNodeAnnotations"), root.get("networkNodeAnnotations")];
  for (const each of nodes.flatMap((list) => list?.items ?? [])) {
    const [id, position] = [each.get("id"), each.get("position")];
    const place = places.get(id?.text ?? "");
    const [x, y] = [position?.get("x")?.number, position?.get("y")?.number];
    if (place === undefined || x === undefined || y === undefined) continue;
    id?.mapped("the position of this node");
    if (place instanceof DraftNode) place.set("position", { ...positionOf(x, y) }, position);
    else {
      place.position = positionOf(x, y);
      position?.kept();
    }
  }
  for (const each of root.get("freeTextAnnotations")?.items ?? []) {
    const [text, position] = [each.get("text"), each.get("position")];
    const [x, y] = [position?.get("x")?.number, position?.get("y")?.number];
    if (text?.text === undefined || x === undefined || y === undefined) continue;
    draft.text(text.text, x, y);
    text.kept();
    position?.kept();
  }
  for (const each of root.get("freeShapeAnnotations")?.items ?? []) readShape(draft, each);
  for (const key of ["groupStyleAnnotations", "edgeAnnotations", "viewerSettings"]) root.get(key)?.dropped("drawings have no styles");
  return root;
}

/** A shape of containerlab's editors is placed by its middle; a line goes from its position to its end. */
function readShape(draft: Draft, part: Part): void {
  const word = part.get("shapeType")?.text;
  const type = word === "circle" ? "ellipse" : shapeTypes.find((one) => one === word);
  const number = (...keys: readonly string[]) => part.at(...keys)?.number ?? Number.NaN;
  const [x, y] = [number("position", "x"), number("position", "y")];
  const opacity = part.get("fillOpacity")?.number ?? 1;
  const color = cssColor(part.get("borderColor")?.text ?? "");
  const fill = cssColor(part.get("fillColor")?.text ?? "", opacity);
  const style = lineStyles.find((one) => one === part.get("borderStyle")?.text) ?? "solid";
  const look = {
    ...(color !== undefined && { color }),
    style,
    thickness: part.get("borderWidth")?.number ?? 2,
    layer: Math.min(0, part.get("zIndex")?.number ?? 0),
  };
  const [width, height] = [number("width"), number("height")];
  const rotation = part.get("rotation")?.number ?? 0;
  const marks = {
    ...(part.get("lineStartArrow")?.text === "true" && { start: "arrow" as const }),
    ...(part.get("lineEndArrow")?.text === "true" && { end: "arrow" as const }),
  };
  const problem =
    type === undefined
      ? `${word ?? "no type"}: neither a rectangle, a circle nor a line`
      : draft.shape(
          type === "line"
            ? { type, x, y, x2: number("endPosition", "x"), y2: number("endPosition", "y"), ...look, ...marks }
            : { type, x: x - width / 2, y: y - height / 2, width, height, ...look, ...(fill !== undefined && { fill }), rotation },
        );
  if (problem !== undefined) {
    part.dropped(problem);
    return;
  }
  for (const key of ["position", "endPosition", "width", "height"]) part.get(key)?.mapped("the place and the size of the shape");
  part.get("lineArrowSize")?.dropped("arrows have the size of their line");
  for (const key of [
    "rotation",
    "lineStartArrow",
    "lineEndArrow",
    "shapeType",
    "borderColor",
    "borderStyle",
    "borderWidth",
    "fillColor",
    "fillOpacity",
    "zIndex",
  ])
    part.get(key)?.mapped("the look of the shape");
}
