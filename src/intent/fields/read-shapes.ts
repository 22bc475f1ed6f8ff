import { didYouMean } from "../diagnostics/nearest.ts";
import type { Problems } from "../diagnostics/problems.ts";
import { boxVocabulary, lineVocabulary } from "../lab/vocabulary.ts";
import type { MapValue, Value } from "../parse/parse.ts";
import { isInvisible, toColor } from "../shapes/color.ts";
import { type LabShape, type LineEnd, type LineStyle, lineEnds, lineStyles, shapeLimits, shapeTypes } from "../shapes/shape.ts";
import { checkKeys, type Field, fieldOf, invalid, readLine, readList, readMap, readNumber } from "./fields.ts";

export interface ReadShape {
  readonly index: number;
  readonly value: Value;
  readonly shape: LabShape;
}

export function readShapes({ problems }: { readonly problems: Problems }, at: Field): readonly ReadShape[] {
  const items = readList(problems, at) ?? [];
  if (items.length > shapeLimits.shapes) {
    const message = `the lab has ${items.length} shapes: a lab has at most ${shapeLimits.shapes}`;
    problems.error("too_large", at.place, at.path, message, "remove some of them");
    return [];
  }
  return items.flatMap((item, index) => {
    const map = readMap(problems, item);
    const shape = map && readShape(problems, item, map);
    return shape === undefined ? [] : [{ index, value: item.value, shape }];
  });
}

function readShape(problems: Problems, item: Field, map: MapValue): LabShape | undefined {
  const type = readType(problems, item, map);
  if (type === undefined) return undefined;
  const isLine = type === "line";
  checkKeys(problems, map, item.path, isLine ? lineVocabulary : boxVocabulary);
  const number = (key: string, rule: { readonly min: number; readonly max: number; readonly integer?: boolean }): number | undefined => {
    const found = fieldOf(map, key, item.path);
    return found && readNumber(problems, found, rule);
  };
  const { place, size } = shapeLimits;
  const last = isLine ? (["x2", "y2"] as const) : (["width", "height"] as const);
  for (const key of ["x", "y", ...last]) {
    if (fieldOf(map, key, item.path) === undefined) problems.error("missing_key", item.place, item.path, `the ${type} has no ${key}`);
  }
  const [x, y] = [number("x", place), number("y", place)];
  const [a, b] = last.map((key) => number(key, isLine ? place : size));
  const look = readLook(problems, map, item.path, number);
  const fillField = isLine ? undefined : fieldOf(map, "fill", item.path);
  const fill = fillField && readFill(problems, fillField);
  const rotation = isLine ? undefined : number("rotation", shapeLimits.rotation);
  const [start, end] = (["start", "end"] as const).map((key) => {
    const field = isLine ? fieldOf(map, key, item.path) : undefined;
    return field && readEnd(problems, field);
  });
  if (x === undefined || y === undefined || a === undefined || b === undefined) return undefined;
  if (type === "line")
    return { type, x, y, x2: a, y2: b, ...look, ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
  return { type, x, y, width: a, height: b, ...look, ...(fill !== undefined && { fill }), ...(rotation !== undefined && { rotation }) };
}

function readType(problems: Problems, item: Field, map: MapValue): LabShape["type"] | undefined {
  const found = fieldOf(map, "type", item.path);
  if (found === undefined) {
    problems.error("missing_key", item.place, item.path, "the shape has no type", `write type: ${shapeTypes.join(", ")}`);
    return undefined;
  }
  return readWord(problems, found, shapeTypes);
}

function readLook(
  problems: Problems,
  map: MapValue,
  path: string,
  number: (key: string, rule: { readonly min: number; readonly max: number; readonly integer?: boolean }) => number | undefined,
) {
  const [colorField, styleField] = [fieldOf(map, "color", path), fieldOf(map, "style", path)];
  const color = colorField && readColor(problems, colorField);
  const style: LineStyle | undefined = styleField && readWord(problems, styleField, lineStyles);
  const [thickness, layer] = [number("thickness", shapeLimits.thickness), number("layer", shapeLimits.layer)];
  return {
    ...(color !== undefined && { color }),
    ...(style !== undefined && { style }),
    ...(thickness !== undefined && { thickness }),
    ...(layer !== undefined && { layer }),
  };
}

function readWord<Word extends string>(problems: Problems, at: Field, words: readonly Word[]): Word | undefined {
  const text = readLine(problems, at, { max: 64 });
  const found = words.find((word) => word === text);
  if (text === undefined || found !== undefined) return found;
  return invalid(problems, at, `it must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`, didYouMean(text, words, problems.effort));
}

function readColor(problems: Problems, at: Field): string | undefined {
  const text = readLine(problems, at, { max: 32 });
  if (text === undefined) return undefined;
  const color = toColor(text);
  return (
    color ?? invalid(problems, at, `${JSON.stringify(text)} is not a color`, 'write "#rgb", "#rrggbb", "#rrggbbaa" or a name such as red')
  );
}

/** Returns undefined also for none. */
function readEnd(problems: Problems, at: Field): LineEnd | undefined {
  const word = readWord(problems, at, [...lineEnds, "none"] as const);
  return word === "none" ? undefined : word;
}

/** Returns undefined also for none. */
function readFill(problems: Problems, at: Field): string | undefined {
  if (at.value.kind === "scalar" && ["none", "transparent"].includes(at.value.text)) return undefined;
  const fill = readColor(problems, at);
  return fill === undefined || isInvisible(fill) ? undefined : fill;
}
