import { describe, expect, test } from "vitest";
import { readIntent } from "../intent/read/read.ts";
import { shapeLimits } from "../intent/shapes/shape.ts";
import { imported, shortReport } from "./testing.fixture.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

function unl(...objects: readonly (readonly [type: string, html: string])[]): string {
  const texts = objects.map(
    ([type, html], index) => `<textobject id="${index + 1}" name="t" type="${type}"><data>${base64(html)}</data></textobject>`,
  );
  return `<?xml version="1.0"?><lab name="a"><topology><nodes/></topology><objects><textobjects>${texts.join("")}</textobjects></objects></lab>`;
}

function gns3(...drawings: readonly object[]): string {
  return JSON.stringify({ name: "a", project_id: "x", type: "topology", topology: { nodes: [], links: [], drawings } });
}

function shapesOf(file: string, text: string) {
  const lab = imported({ [file]: text });
  const { lab: read, diagnostics } = readIntent(lab.yaml, lab.files);
  expect(diagnostics).toEqual([]);
  return { shapes: read?.shapes, report: shortReport(lab), lab };
}

describe("shapes of EVE-NG", () => {
  test("are read from the HTML of its drawings, with their layer", () => {
    const style = "display: inline; z-index: 998; position: absolute; left: 270px; top: 151.5px; width: 120px; height: 80px;";
    const { shapes, report } = shapesOf(
      "a.unl",
      unl(
        [
          "square",
          `<div id="customShape1" class="customShape context-menu" style="${style}"><svg width="120" height="80"><rect width="120" height="80" fill="#ffffff" stroke-width="5" stroke="rgb(255, 0, 0)" stroke-dasharray="10,10"></rect></svg></div>`,
        ],
        [
          "circle",
          `<div style="left:0px;top:0px;z-index:999;transform:rotate(0.785398rad)"><svg><ellipse cx="50" cy="40" rx="47.5" ry="37.5" stroke="#000000" stroke-width="5" fill="transparent"/></svg></div>`,
        ],
      ),
    );
    expect(shapes).toEqual([
      {
        type: "rectangle",
        x: 270,
        y: 152,
        width: 120,
        height: 80,
        color: "#ff0000",
        style: "dashed",
        thickness: 5,
        layer: -1,
        fill: "#ffffff",
      },
      { type: "ellipse", x: 3, y: 3, width: 95, height: 75, color: "#000000", thickness: 5, rotation: 45 },
    ]);
    expect(report.filter((line) => /^mapped .*\/textobject\//.test(line) && /data/.test(line))).toHaveLength(2);
  });

  test("that are none, or have no place, are dropped", () => {
    const { shapes, lab } = shapesOf(
      "a.unl",
      unl(["square", "<div style='left:0px'><svg><rect width='9' height='9'/></svg></div>"], ["image", "<img>"]),
    );
    expect(shapes).toBeUndefined();
    expect(lab.report.filter(({ message }) => message === "neither a text, a rectangle, an ellipse nor a line")).toHaveLength(2);
  });
});

describe("shapes of GNS3", () => {
  test("are read from the SVG of its drawings; a line is turned, and so is a rectangle by a right angle", () => {
    const { shapes } = shapesOf(
      "a.gns3",
      gns3(
        {
          svg: '<svg height="0" width="100"><line stroke="#0000ff" stroke-width="4" x1="0" x2="100" y1="0" y2="0" stroke-dasharray="5, 25" /></svg>',
          x: 10,
          y: 20,
          z: 1,
          rotation: 90,
        },
        {
          svg: '<svg height="50" width="100"><rect fill="#fff" fill-opacity="0.2" height="50" width="100" rx="5" /></svg>',
          x: 0,
          y: 0,
          z: -1,
          rotation: 90,
        },
      ),
    );
    expect(shapes).toEqual([
      { type: "rectangle", x: -50, y: 0, width: 50, height: 100, thickness: 0, layer: -1, fill: "#ffffff33" },
      { type: "line", x: 10, y: 20, x2: 10, y2: 120, color: "#0000ff", style: "dotted", thickness: 4 },
    ]);
  });
});

test("annotations of CML are shapes: a rectangle by its size, an ellipse by its middle and radii, a line by its ends", () => {
  const note = (fields: object) => ({ border_style: "", thickness: 1, z_index: 0, rotation: 0, ...fields });
  const lab = {
    lab: { title: "a" },
    nodes: [{ id: "n0", label: "r1", node_definition: "iosv", x: 0, y: 0, interfaces: [] }],
    links: [],
    annotations: [
      note({ type: "rectangle", x1: -10, y1: -20, x2: 200, y2: 100, color: "#FFFFFFFF", border_color: "#80808000" }),
      note({ type: "ellipse", x1: 0, y1: 0, x2: 30, y2: 10, color: "#00A0D180", border_color: "#000000FF", border_style: "5,2" }),
      note({
        type: "line",
        x1: 0,
        y1: 0,
        x2: 30,
        y2: -10,
        color: "#FF0000",
        border_color: "#FF0000",
        border_style: "2,2",
        line_start: "circle",
        line_end: "arrow",
      }),
      note({ type: "ellipse", x1: 0, y1: 0, x2: 30, y2: 10, color: "#FFFFFF00", border_color: "#000000FF", rotation: 200 }),
    ],
  };
  expect(shapesOf("a.json", JSON.stringify(lab)).shapes).toEqual([
    { type: "rectangle", x: -10, y: -20, width: 200, height: 100, color: "#80808000", thickness: 1, fill: "#ffffff" },
    { type: "ellipse", x: -30, y: -10, width: 60, height: 20, color: "#000000", style: "dashed", thickness: 1, fill: "#00a0d180" },
    { type: "ellipse", x: -30, y: -10, width: 60, height: 20, color: "#000000", thickness: 1, rotation: 20 },
    { type: "line", x: 0, y: 0, x2: 30, y2: -10, color: "#ff0000", style: "dotted", thickness: 1, start: "circle", end: "arrow" },
  ]);
});

test("annotations of containerlab's editors are shapes, placed by their middle", () => {
  const annotations = {
    freeShapeAnnotations: [
      {
        id: "1",
        shapeType: "circle",
        position: { x: 100, y: 50 },
        width: 40,
        height: 20,
        fillColor: "#112233",
        fillOpacity: 0.5,
        borderColor: "red",
        borderWidth: 3,
        borderStyle: "dashed",
        rotation: 30,
      },
      {
        id: "3",
        shapeType: "line",
        position: { x: 0, y: 0 },
        endPosition: { x: 50, y: 0 },
        borderColor: "#000",
        borderWidth: 2,
        lineStartArrow: false,
        lineEndArrow: true,
      },
      { id: "2", shapeType: "star", position: { x: 0, y: 0 } },
    ],
  };
  const files = {
    "a.clab.yml": "name: a\ntopology: {nodes: {r1: {kind: linux}}}\n",
    "a.clab.yml.annotations.json": JSON.stringify(annotations),
  };
  const lab = imported(files);
  expect(readIntent(lab.yaml, lab.files).lab?.shapes).toEqual([
    {
      type: "ellipse",
      x: 80,
      y: 40,
      width: 40,
      height: 20,
      color: "#ff0000",
      style: "dashed",
      thickness: 3,
      fill: "#11223380",
      rotation: 30,
    },
    { type: "line", x: 0, y: 0, x2: 50, y2: 0, color: "#000000", end: "arrow" },
  ]);
  expect(shortReport(lab)).toContain("dropped /freeShapeAnnotations/2");
});

describe("hostile drawings", () => {
  test("add no text to the lab but numbers, words of the language and colors", () => {
    const evil = `" onload="alert(1)`;
    const { lab, shapes } = shapesOf(
      "a.gns3",
      gns3(
        {
          svg: `<svg><script>alert(1)</script><rect width="10" height="1e999" stroke="url(javascript:alert(1))" fill="red;}*{x:expression(alert(1))" class='${evil}'/></svg>`,
          x: 0,
          y: 0,
        },
        {
          svg: `<svg><rect width="10" height="10" stroke="url(javascript:alert(1))" stroke-width="999999" fill="${"a".repeat(9999)}"/></svg>`,
          x: 1e300,
          y: 0,
        },
      ),
    );
    expect(lab.yaml).not.toMatch(/alert|url|script|aaaa/);
    expect(shapes).toEqual([{ type: "rectangle", x: 1_000_000, y: 0, width: 10, height: 10, thickness: 100 }]);
  });

  test("have at most as many shapes as a lab; the rest is reported", () => {
    const one = { svg: '<svg><rect width="10" height="10"/></svg>', x: 0, y: 0 };
    const { shapes, lab } = shapesOf("a.gns3", gns3(...Array.from({ length: shapeLimits.shapes + 3 }, () => one)));
    expect(shapes).toHaveLength(shapeLimits.shapes);
    expect(lab.report.filter(({ message }) => message === "a lab has at most 2000 shapes")).toHaveLength(3);
  });
});
