import { describe, expect, test } from "vitest";
import { shapeLimits } from "../../shapes/shape.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const lab = (shapes: string) => readIntent(`name: a\nshapes:\n${shapes}\n`);
const problems = (shapes: string) => lab(shapes).diagnostics.map(({ code, path, message }) => `${code} ${path} ${message}`);

describe("shapes of the drawing", () => {
  test("are read, with colors in one notation and without settings that are the default", () => {
    const read = lab(`
  - {type: rectangle, x: 1, y: 2, width: 30, height: 40, color: Red, style: solid, thickness: 2, layer: 0, fill: "#AbC"}
  - {type: ellipse, x: 0, y: 0, width: 5.5, height: 6, style: dotted, thickness: 0, fill: none}
  - {type: line, x: 0, y: -0.0, x2: -10, y2: 20, color: "#00ff0080", layer: -1}`);
    expect(read.diagnostics).toEqual([]);
    expect(read.lab?.shapes).toEqual([
      { type: "line", x: 0, y: 0, x2: -10, y2: 20, color: "#00ff0080", layer: -1 },
      { type: "rectangle", x: 1, y: 2, width: 30, height: 40, color: "#ff0000", fill: "#aabbcc" },
      { type: "ellipse", x: 0, y: 0, width: 5.5, height: 6, style: "dotted", thickness: 0 },
    ]);
  });

  test("are drawn by layer, and in a layer the larger ones first", () => {
    const shapes = lab(`
  - {type: rectangle, x: 0, y: 0, width: 10, height: 10, layer: 3}
  - {type: rectangle, x: 0, y: 0, width: 20, height: 20}
  - {type: rectangle, x: 0, y: 0, width: 90, height: 90}
  - {type: rectangle, x: 0, y: 0, width: 50, height: 50, layer: -2}`).lab?.shapes;
    expect(shapes?.map((shape) => shape.type !== "line" && shape.width)).toEqual([50, 90, 20, 10]);
  });

  test.each([
    [
      '{type: rectangle, x: 0, y: 0, width: 1, height: 1, color: "url(#x)"}',
      'invalid_value /shapes/0/color "color": "url(#x)" is not a color',
    ],
    [
      "{type: rectangle, x: 0, y: 0, width: 1, height: 1, fill: 'red;background:url(//x)'}",
      'invalid_value /shapes/0/fill "fill": "red;background:url(//x)" is not a color',
    ],
    [
      "{type: rectangle, x: 0, y: 0, width: 1, height: 1, style: wavy}",
      'invalid_value /shapes/0/style "style": it must be solid, dashed or dotted',
    ],
    ["{type: star, x: 0, y: 0}", 'invalid_value /shapes/0/type "type": it must be rectangle, ellipse or line'],
    ["{type: line, x: 0, y: 0, x2: 1}", "missing_key /shapes/0 the line has no y2"],
    ["{x: 0}", "missing_key /shapes/0 the shape has no type"],
    ["{type: line, x: 0, y: 0, x2: 1, y2: 1, fill: red}", 'unknown_key /shapes/0/fill unknown key "fill"'],
    ["{type: ellipse, x: 0, y: 0, width: 0, height: 1}", "out_of_range /shapes/0/width 0 is out of range: 1 to 1000000"],
    [
      "{type: ellipse, x: 0, y: 0, width: 1, height: 1, layer: 0.5}",
      'wrong_type /shapes/0/layer "layer": must be a whole number, not a number',
    ],
  ])("%s is refused with its place", (shape, problem) => {
    expect(problems(`  - ${shape}`)).toEqual([problem]);
  });

  test("more than the maximum are refused as a whole", () => {
    const one = "  - {type: line, x: 0, y: 0, x2: 1, y2: 1}";
    const many = Array.from({ length: shapeLimits.shapes + 1 }, () => one).join("\n");
    expect(problems(many)).toEqual([`too_large /shapes the lab has 2001 shapes: a lab has at most 2000`]);
  });

  test("are printed, and read back as they are", () => {
    const { lab: read } = lab("  - {type: line, x: 1, y: 2, x2: 3, y2: 4, color: navy, style: dashed}");
    const { yaml } = printLab(read!);
    expect(yaml).toContain('\nshapes:\n  - {type: line, x: 1, y: 2, x2: 3, y2: 4, color: "#000080", style: dashed}\n');
    expect(readIntent(yaml).lab).toEqual(read);
  });
});
