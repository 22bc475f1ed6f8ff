import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { forwardedHeader, forwardedOf, forwardedText, noteMember } from "./forwarded.ts";

const socket = new PassThrough();
noteMember(socket, 1);
const asked = (text: string, connection = socket) =>
  forwardedOf({ headers: { [forwardedHeader]: text }, socket: connection } as unknown as IncomingMessage);

test("what a machine sends with a call counts only on its connection, and only in its form", () => {
  const forwarded = { caller: { user: "ann", role: "user", session: "s" }, requestId: "1", address: "" } as const;
  expect(asked(forwardedText(forwarded))).toEqual(forwarded);
  expect(asked(forwardedText({ ...forwarded, caller: null }))?.caller).toBeNull();
  expect(asked(forwardedText(forwarded), new PassThrough())).toBeUndefined();
  for (const text of ["null", "[]", "1", '"x"', "{}", '{"caller":"ann"}', "{"])
    expect(asked(Buffer.from(text).toString("base64url")), text).toBeUndefined();
});
