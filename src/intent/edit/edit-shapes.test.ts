import { describe, expect, test } from "vitest";
import { readIntent } from "../read/read.ts";
import { editIntent } from "./edit.ts";

describe("an edit of shapes", () => {
  const yaml = `name: a
shapes:
  # the core
  - {type: rectangle, x: 0, y: 0, width: 100, height: 50, fill: red}   # red

  - type: line
    x: 0
    y: 0
    x2: 9
    y2: 9
`;
  const read = (text: string) => readIntent(text).lab!;
  const edited = (change: (shapes: NonNullable<ReturnType<typeof read>["shapes"]>) => unknown) => {
    const before = read(yaml);
    return editIntent(yaml, {}, { ...before, shapes: change(before.shapes ?? []) as never }).yaml;
  };

  test("moves one and keeps comments, order and the notation of the rest", () => {
    const moved = edited((shapes) => shapes.map((shape) => (shape.type === "line" ? shape : { ...shape, x: 40 })));
    expect(moved).toBe(yaml.replace("{type: rectangle, x: 0", "{type: rectangle, x: 40"));
  });

  test("deletes one", () => {
    expect(edited((shapes) => shapes.filter(({ type }) => type === "line"))).toBe(
      "name: a\nshapes:\n\n  - type: line\n    x: 0\n    y: 0\n    x2: 9\n    y2: 9\n",
    );
  });

  test("adds one, and makes a line a rectangle", () => {
    const text = edited(() => [{ type: "ellipse", x: 5, y: 5, width: 7, height: 8 }]);
    expect(read(text).shapes).toEqual([{ type: "ellipse", x: 5, y: 5, width: 7, height: 8 }]);
  });

  test("in a text without shapes adds the section", () => {
    const before = read("name: a # the lab\n");
    const { yaml: text } = editIntent("name: a # the lab\n", {}, { ...before, shapes: [{ type: "line", x: 0, y: 0, x2: 1, y2: 1 }] });
    expect(text).toBe("name: a # the lab\nshapes:\n  - {type: line, x: 0, y: 0, x2: 1, y2: 1}\n");
  });
});
