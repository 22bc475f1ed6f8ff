import fc from "fast-check";
import { expect, test } from "vitest";
import { readText, writeText } from "./texts.ts";

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
