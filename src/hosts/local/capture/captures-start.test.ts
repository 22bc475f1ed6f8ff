import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LabDefinition } from "../definitions/definition.ts";
import { openTrash } from "../files/trash.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { captureLimits } from "./capture-limits.ts";
import { Captures } from "./captures.ts";

test("a capture that is looked for while it is being started is not taken for a lost one", async () => {
  const directory = await mkdtemp(join(tmpdir(), "labwright-captures-"));
  try {
    let start: (() => void) | undefined;
    // The tap begins when it is let; the look at the process table finds it.
    const run = async ([program = "", ...rest]: readonly string[]) => {
      if (program === "sh") return { code: 0, stdout: rest.filter((word) => word.startsWith("capture=")).join("\n"), stderr: "" };
      await new Promise<void>((resolve) => {
        start = resolve;
      });
      return { code: 0, stdout: "4711", stderr: "" };
    };
    const lab = { definition: { path: "/a" } as LabDefinition, directory, sandbox: { run } as unknown as Sandbox };
    const captures = new Captures("/tap", captureLimits, await openTrash(join(directory, "trash"), () => undefined), () => [directory]);
    const request = { nodeId: "1", interface: "eth0", label: "h1:eth0" };
    const starting = captures.start(lab, request, "1.0");
    await expect.poll(() => start).toBeDefined();
    expect(await captures.list(lab)).toEqual([]);
    start?.();
    const { id, status } = await starting;
    expect(status).toBe("running");
    expect(await captures.list(lab)).toMatchObject([{ id, status: "running" }]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
