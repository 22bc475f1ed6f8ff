import { type Draft, type DraftPlace, positionOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";

/** Reads positions and texts of the file that the drawing tools of containerlab write beside a lab. Returns its parts; undefined: there is none, or it is no JSON. */
export function readAnnotations(draft: Draft, files: SourceFiles, path: string, places: ReadonlyMap<string, DraftPlace>): Part | undefined {
  const base = path.replace(/\.ya?ml$/i, "");
  const name = [`${path}.annotations.json`, `${base}.annotations.json`].find((each) => files.bytes(each) !== undefined);
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
  for (const key of ["freeShapeAnnotations", "groupStyleAnnotations", "edgeAnnotations", "viewerSettings"])
    root.get(key)?.dropped("drawings have no shapes and styles");
  return root;
}
