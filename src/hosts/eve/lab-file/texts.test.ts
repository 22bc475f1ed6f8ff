import fc from "fast-check";
import { expect, test } from "vitest";
import { readShape, readText, writeText } from "./texts.ts";

const drawn = (html: string, type = "text") => readText({ id: 1, type, data: Buffer.from(html).toString("base64") });

test("a text reads back as it was written, with any content", () => {
  const coordinate = fc.oneof(fc.integer({ min: -5000, max: 5000 }), fc.constantFrom(0.5, -12.25));
  const words = fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1 }),
    fc.constantFrom("a\r\nb", "<br>", "&amp;", " x ", "\n", "</p></div>", "&#13;"),
  );
  fc.assert(
    fc.property(words, coordinate, coordinate, (text, x, y) => {
      expect(readText(writeText(7, { text, x, y }))).toEqual({ text, x, y });
    }),
  );
});

test("of what people draw the words and the place are read", () => {
  const style = 'style="display:inline; position:absolute; left: 150px; top: 40.5px; z-index: 1001;"';
  expect(drawn(`<div id="customText1" class="customShape customText" ${style}><p align="center">Core &amp; <b>edge</b></p></div>`)).toEqual(
    {
      text: "Core & edge",
      x: 150,
      y: 40.5,
    },
  );
  expect(drawn(`<div ${style}><div>one</div><div>two</div></div>`)?.text).toBe("one\ntwo");
  expect(drawn(`<div ${style}><p>words</p></div>`, "shape")).toBeUndefined();
  expect(drawn("hello")).toBeUndefined();
  expect(drawn(`<div ${style}><svg></svg></div>`)).toBeUndefined();
});

test("a shape is read with its place, size, look and layer; a text and an unknown drawing are none", () => {
  const shape = (html: string, type = "square") => readShape({ id: 1, type, data: Buffer.from(html).toString("base64") });
  const style = 'style="display:inline; z-index:1000; position:absolute; left:10px; top:20px; width:120px; height:80px"';
  const square = `<div class="customShape" ${style}><svg width="120" height="80"><rect width="120" height="80" fill="#ffffff" stroke-width="5" stroke="#000000"></rect></svg></div>`;
  const look = { color: "#000000", thickness: 5, layer: 1, fill: "#ffffff" };
  expect(shape(square)).toEqual({ type: "rectangle", x: 10, y: 20, width: 120, height: 80, ...look });
  expect(shape(square, "text")).toBeUndefined();
  expect(shape(`<div ${style}><img src="x"></div>`)).toBeUndefined();
});
