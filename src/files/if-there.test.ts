import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ifThere } from "./if-there.ts";

test("a missing file is undefined, and another error is thrown", async () => {
  const here = import.meta.filename;
  expect(await ifThere(readFile(here, "utf8"))).toContain("a missing file");
  expect(await ifThere(readFile(`${here}.missing`))).toBeUndefined();
  await expect(ifThere(readFile(import.meta.dirname))).rejects.toMatchObject({ code: "EISDIR" });
});
