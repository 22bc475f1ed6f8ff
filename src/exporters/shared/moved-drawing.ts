import type { Lab, Position } from "../../intent/lab/lab.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";

/** Returns by how many px the drawing moves for a tool whose nodes have no places left of or above its corner. Only declared positions count. */
export function moveIntoView({ nodes, networks }: Pick<Lab, "nodes" | "networks">): Position {
  const declared = [...nodes, ...networks].flatMap(({ position }) => position ?? []);
  const least = (side: "x" | "y") => declared.reduce((smallest, place) => Math.min(smallest, place[side]), 0);
  return { x: -Math.floor(least("x")) || 0, y: -Math.floor(least("y")) || 0 };
}

/** Returns the texts and shapes, moved. */
export function movedDrawing<L extends Pick<Lab, "texts" | "shapes">>(lab: L, by: Position): L {
  if (by.x === 0 && by.y === 0) return lab;
  const moved = <P extends Position>(place: P): P => ({ ...place, x: place.x + by.x, y: place.y + by.y });
  const movedShape = (shape: LabShape): LabShape =>
    shape.type === "line" ? { ...moved(shape), x2: shape.x2 + by.x, y2: shape.y2 + by.y } : moved(shape);
  return { ...lab, texts: lab.texts.map(moved), ...(lab.shapes !== undefined && { shapes: lab.shapes.map(movedShape) }) };
}
