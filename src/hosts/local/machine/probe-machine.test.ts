import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { probeMachine } from "./probe-machine.ts";

test("a program of several hosts runs once, another one for itself", async () => {
  const dir = await mkdtemp(join(tmpdir(), "labwright-probe-"));
  const argv = (name: string) => ["sh", "-c", `echo run >> "$0"; echo seen; exit 3`, join(dir, name)];
  const [first, second] = await Promise.all([probeMachine(argv("a")), probeMachine(argv("a"))]);
  expect(first).toMatchObject({ code: 3, stdout: "seen\n" });
  expect(second).toBe(first);
  await probeMachine(argv("b"));
  expect(await readFile(join(dir, "a"), "utf8")).toBe("run\n");
  expect(await readFile(join(dir, "b"), "utf8")).toBe("run\n");
  await rm(dir, { recursive: true });
});
