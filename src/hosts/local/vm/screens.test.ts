import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Screens } from "./screens.ts";

let directory: string;
let screens: Screens;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "labwright-screens-"));
  screens = new Screens(directory);
});
afterEach(async () => {
  screens.close();
  await rm(directory, { recursive: true, force: true });
});

test("the first caller that gets a screen's path can connect to it, also with many callers at once", async () => {
  const join = async () => new PassThrough();
  const paths = [1, 2, 3].map(() => screens.path({ join }, 7));
  const first = await Promise.race(paths.slice(1));
  const client = connect(first);
  await new Promise<void>((resolve, reject) => client.once("error", reject).write("hello", () => resolve()));
  const echo = await new Promise<Buffer>((resolve) => client.once("data", resolve));
  expect(echo.toString()).toBe("hello");
  client.destroy();
  expect(await Promise.all(paths)).toEqual([first, first, first]);
});
