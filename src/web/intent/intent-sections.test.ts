import { expect, test } from "vitest";
import { qualityPresets as presetsOfLanguage } from "../../intent/lab/quality.ts";
import { qualityPresets } from "../panels/quality-presets.ts";
import { withPositions, withQuality } from "./intent-sections.ts";

test("the pages offer the presets of the intent language", () => {
  expect(qualityPresets).toEqual(presetsOfLanguage);
});

test("positions are set on nodes of the intent, and unknown keys are ignored", () => {
  const moved = new Map([
    ["r1", { x: 1, y: 2 }],
    ["unknown", { x: 3, y: 4 }],
  ]);
  expect(withPositions({ r1: { template: "frr", position: { x: 0, y: 0 } }, r2: null }, moved)).toEqual({
    r1: { template: "frr", position: { x: 1, y: 2 } },
    r2: null,
  });
});

test.each([
  ["short", ["r1:a", "r2:b"]],
  ["long", { endpoints: ["r1:a", "r2:b"], quality: "wan1" }],
  [
    "of maps",
    {
      endpoints: [
        { node: "r1", interface: "a" },
        { node: "r2", interface: "b" },
      ],
    },
  ],
])("the quality of a link in %s form is set, in either order of its ends", (_form, link) => {
  const endpoints = Array.isArray(link) ? link : link.endpoints;
  const sides = { a: { delay: 5 }, b: undefined };
  expect(withQuality([["x:0", "y:0"], link], ["r1:a", "r2:b"], sides)).toEqual([
    ["x:0", "y:0"],
    { endpoints, quality: { a: { delay: 5 } } },
  ]);
  expect(withQuality([link], ["r2:b", "r1:a"], sides)).toEqual([{ endpoints, quality: { b: { delay: 5 } } }]);
  expect(withQuality([link], ["r1:a", "r2:b"], { a: undefined, b: undefined })).toEqual([{ endpoints }]);
});

test("a link that the intent does not have gives undefined", () => {
  expect(withQuality([["r1:a", "r2:b"]], ["r1:a", "r2:c"], { a: { delay: 1 }, b: undefined })).toBeUndefined();
});
