import { expect, test } from "vitest";
import { areaOf, centred, fitted, revealing, showsAll, type View, zoomed } from "./view.ts";

const stage = { width: 800, height: 600 };
const on = ({ x, y, scale }: View, at: { readonly x: number; readonly y: number }) => ({ x: x + at.x * scale, y: y + at.y * scale });
const graph = (...places: readonly (readonly [number, number])[]) => ({
  nodes: places.map(([x, y]) => ({ at: { x, y } })) as never,
  texts: [],
  shapes: [],
});

test("the fitted drawing is centred on the stage, with room for labels", () => {
  const area = areaOf(graph([0, 0], [2000, 400]));
  const view = fitted(area, stage);
  for (const at of [
    { x: 0, y: 0 },
    { x: 2000, y: 400 },
  ]) {
    const { x, y } = on(view, at);
    expect(x).toBeGreaterThan(0);
    expect(x).toBeLessThan(800);
    expect(y).toBeGreaterThan(0);
    expect(y).toBeLessThan(600);
  }
  const middle = on(view, { x: 1000, y: 200 });
  expect(middle.x).toBeCloseTo(400);
  expect(middle.y).toBeCloseTo(300);
});

test("tools over the stage cover no part of the fitted drawing", () => {
  const view = fitted(areaOf(graph([0, 0], [400, 2000])), stage, { top: 50, left: 0, bottom: 0 });
  expect(on(view, { x: 0, y: 0 }).y).toBeGreaterThan(50);
  expect(on(view, { x: 0, y: 2000 }).y).toBeLessThan(600);
  expect(on(view, { x: 200, y: 1000 }).y).toBeCloseTo(325);
});

test("the palette over the stage covers no part of the fitted drawing", () => {
  const inset = { top: 0, left: 240, bottom: 0 };
  const drawing = graph([0, 0], [2000, 400]);
  const view = fitted(areaOf(drawing), stage, inset);
  expect(on(view, { x: 0, y: 0 }).x).toBeGreaterThan(240);
  expect(on(view, { x: 2000, y: 0 }).x).toBeLessThan(800);
  expect(on(view, { x: 1000, y: 0 }).x).toBeCloseTo(520);
  expect(showsAll(drawing, view, stage, inset)).toBe(true);
  expect(showsAll(drawing, fitted(areaOf(drawing), stage), stage, inset)).toBe(false);
});

test("the bar of changes over the stage covers no part of the fitted drawing", () => {
  const inset = { top: 0, left: 0, bottom: 90 };
  const drawing = graph([0, 0], [400, 2000]);
  const view = fitted(areaOf(drawing), stage, inset);
  expect(on(view, { x: 0, y: 2000 }).y).toBeLessThan(510);
  expect(showsAll(drawing, view, stage, inset)).toBe(true);
  expect(showsAll(drawing, fitted(areaOf(drawing), stage), stage, inset)).toBe(false);
});

test("a few nodes are enlarged 1.5 times at most, and an empty drawing has an area", () => {
  expect(fitted(areaOf(graph([5, 5])), stage).scale).toBe(1.5);
  expect(areaOf(graph())).toMatchObject({ width: 160, height: 160 });
  expect(areaOf({ nodes: [], shapes: [], texts: [{ id: "text:0", text: "far", at: { x: 1000, y: 0 } }] })).toMatchObject({ left: 920 });
  const shape = { type: "line", x: 0, y: 0, x2: -500, y2: 300 } as const;
  const area = areaOf({ nodes: [], texts: [], shapes: [{ id: "shape:1", shape, at: shape }] });
  expect(area).toEqual({ left: -580, top: -80, width: 660, height: 460 });
});

test("the point under the pointer stays there during a zoom, also at the limits of the scale", () => {
  const pointer = { x: 123, y: 456 };
  let view: View = { x: 10, y: -20, scale: 1 };
  const under = { x: (pointer.x - view.x) / view.scale, y: (pointer.y - view.y) / view.scale };
  for (const by of [1.7, 100, 0.5, 0.0001, 3]) {
    view = zoomed(view, by, pointer);
    expect(on(view, under).x).toBeCloseTo(pointer.x);
    expect(on(view, under).y).toBeCloseTo(pointer.y);
  }
  expect(zoomed(view, 1e9, pointer).scale).toBe(4);
});

test("a found node is centred, at a scale that shows its label", () => {
  const view = centred({ x: 0, y: 0, scale: 0.1 }, { x: 5000, y: 70 }, stage);
  expect(view.scale).toBe(0.8);
  expect(on(view, { x: 5000, y: 70 })).toEqual({ x: 400, y: 300 });
  expect(centred({ x: 0, y: 0, scale: 2 }, { x: 1, y: 1 }, stage).scale).toBe(2);
});

test("a position outside of the stage is revealed by the shortest pan, and a visible one causes no pan", () => {
  const view = { x: 0, y: 0, scale: 1 };
  expect(revealing(view, { x: 300, y: 300 }, stage)).toEqual(view);
  expect(on(revealing(view, { x: 1000, y: -5 }, stage), { x: 1000, y: -5 })).toEqual({ x: 740, y: 60 });
});

test("a drawing is shown completely if all nodes are on the stage, below the tools", () => {
  const view = { x: 0, y: 0, scale: 1 };
  expect(showsAll(graph([100, 100], [700, 500]), view, stage, { top: 50, left: 0, bottom: 0 })).toBe(true);
  expect(showsAll(graph([100, 100], [790, 500]), view, stage, { top: 50, left: 0, bottom: 0 })).toBe(false);
  expect(showsAll(graph([100, 70]), view, stage, { top: 50, left: 0, bottom: 0 })).toBe(false);
});
