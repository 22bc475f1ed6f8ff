import { expect, test } from "vitest";
import { shippedMapping } from "../testing.fixture.ts";
import { chooseTemplate } from "./choose-template.ts";

test.each([
  ["gns3", "dynamips router c3725", "c3725.bin", /emulator of its own.*--substitute/],
  ["gns3", "iou router", "i86bi-linux-l3.bin", /emulator of its own/],
  ["eve", "iol", "i86bi-linux-l2.bin", /emulator of its own/],
  ["eve", "c7200", "c7200.image", /emulator of its own/],
  ["cml", "ioll2-xe", undefined, /emulator of its own/],
  ["netlab", "iol", undefined, /made from vios.*image directory/],
  ["eve", "vios", "vios-15", /copy its disk into the image directory/],
  ["containerlab", "linux", "alpine:3", /alpine:3, which was not looked for: it is pulled from its registry before the first start$/],
  ["containerlab", "ceos", "ceos:4.32", /labwright image add FILE --name ceos:4.32$/],
])("the report of %s names how a node of type %s gets its image", (tool, type, image, message) => {
  expect(chooseTemplate({ mapping: shippedMapping }, tool, type, image).message).toMatch(message);
});
