import fc from "fast-check";
import { expect, test } from "vitest";
import { rowWindow, scrollTo } from "./row-window.ts";

const views = fc
  .record({
    count: fc.integer({ min: 0, max: 3_000_000 }),
    rowHeight: fc.integer({ min: 12, max: 40 }),
    viewHeight: fc.integer({ min: 50, max: 2_000 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ part, ...view }) => {
    const { height } = rowWindow({ ...view, scrollTop: 0 });
    return { ...view, scrollTop: part * Math.max(0, height - view.viewHeight) };
  });

test("only a few rows are drawn, and they cover the visible part", () => {
  fc.assert(
    fc.property(views, (view) => {
      const { first, end, top, height } = rowWindow(view);
      expect(end - first).toBeLessThanOrEqual(view.viewHeight / view.rowHeight + 19);
      expect(top).toBeLessThanOrEqual(view.scrollTop + 0.01);
      expect(top + (end - first) * view.rowHeight).toBeGreaterThanOrEqual(Math.min(height, view.scrollTop + view.viewHeight) - 0.01);
    }),
  );
});

test("the first and the last row are reached, even if the list is higher than the maximum of browsers", () => {
  const view = { count: 2_000_000, rowHeight: 22, viewHeight: 500 };
  expect(rowWindow({ ...view, scrollTop: 0 })).toMatchObject({ first: 0, top: 0 });
  const { height } = rowWindow({ ...view, scrollTop: 0 });
  expect(height).toBe(15_000_000);
  expect(rowWindow({ ...view, scrollTop: height - 500 }).end).toBe(2_000_000);
});

test("a row that is scrolled to is completely visible", () => {
  fc.assert(
    fc.property(views, fc.nat(), (view, any) => {
      if (view.count === 0) return;
      const row = any % view.count;
      const scrollTop = scrollTo(row, view);
      const { first, end, top } = rowWindow({ ...view, scrollTop });
      expect(row).toBeGreaterThanOrEqual(first);
      expect(row).toBeLessThan(end);
      const at = top + (row - first) * view.rowHeight - scrollTop;
      expect(at).toBeGreaterThanOrEqual(-1);
      expect(at + view.rowHeight).toBeLessThanOrEqual(view.viewHeight + 1);
      // A second call does not scroll.
      expect(scrollTo(row, { ...view, scrollTop })).toBeCloseTo(scrollTop, 3);
    }),
  );
});
