import { expect, test } from "vitest";
import { share } from "../../contract/shared-answer.ts";
import { envelopeBody } from "./envelope-body.ts";

const envelopeText = (data: unknown): string => String(envelopeBody(data));

test("an envelope with shared parts equals an envelope without", () => {
  const live = { available: true, nodes: [{ id: "1", name: 'n "1" ä', ready: undefined, exit_code: 0 }] };
  for (const data of [{ lab: "/a", live, last: undefined, list: [1, null] }, { live }, {}, null, [live], "text", 7]) {
    const plain = JSON.stringify({ ok: true, data });
    expect(envelopeText(data)).toBe(plain);
    share(live);
    expect(envelopeText(data)).toBe(plain);
  }
});

test("a shared part is converted to JSON once, also beside different other parts", () => {
  let written = 0;
  const part = share({
    toJSON: () => {
      written += 1;
      return { rows: 3 };
    },
  });
  expect([envelopeText({ a: 1, part }), envelopeText({ part, b: 2 })]).toEqual([
    '{"ok":true,"data":{"a":1,"part":{"rows":3}}}',
    '{"ok":true,"data":{"part":{"rows":3},"b":2}}',
  ]);
  expect(written).toBe(1);
});

test("the whole answer is the same buffer while the JSON around the part is unchanged", () => {
  const part = share({ rows: 3 });
  const first = envelopeBody({ a: 1, part });
  expect(envelopeBody({ a: 1, part })).toBe(first);
  expect(envelopeText({ a: 2, part })).toBe('{"ok":true,"data":{"a":2,"part":{"rows":3}}}');
  expect(envelopeText({ a: 1, part, b: "}" })).toBe('{"ok":true,"data":{"a":1,"part":{"rows":3},"b":"}"}}');
  expect(envelopeText({ a: 1, part })).toBe(String(first));
  const other = share({ rows: 4 });
  expect(envelopeText({ part, other })).toBe('{"ok":true,"data":{"part":{"rows":3},"other":{"rows":4}}}');
});
