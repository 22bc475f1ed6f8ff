import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ControlGroups } from "./control-groups.ts";
import { groupsSettled, removeLabGroups } from "./lab-groups.ts";

test("the reason why groups could not be removed is reported", async () => {
  const directory = await mkdtemp(join(tmpdir(), "labwright-groups-"));
  try {
    // The kernel removes no file as a directory.
    const group = join(directory, "group");
    await writeFile(group, "");
    const warnings: string[] = [];
    removeLabGroups({ groups: { hierarchies: [] } as unknown as ControlGroups, directories: [group] }, (text) => warnings.push(text));
    await groupsSettled();
    expect(warnings).toEqual([expect.stringMatching(/^the control groups .*group were not removed: ENOTDIR/)]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
