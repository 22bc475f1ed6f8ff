import { chmod, chown, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { idRange } from "../machine/idmap.ts";
import { localPaths } from "../machine/paths.ts";
import { impassable, preflight } from "./preflight.ts";

let top: string;
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "labwright-preflight-"));
  await chmod(top, 0o711);
});
afterEach(() => rm(top, { recursive: true }));

test("the preflight of a machine without holder and images names the command that makes them", async () => {
  const paths = { ...localPaths(process.env, 0), state: join(top, "state"), images: join(top, "images"), holder: join(top, "holder") };
  expect(await preflight(paths)).toEqual([
    `there is no lab holder at ${top}/holder: labwright setup makes it`,
    `there are no images in ${top}/images: labwright setup makes them`,
  ]);
});

test.runIf(process.getuid?.() === 0)(
  "closed directories are found at every level, and the permission of the labs' group is enough",
  async () => {
    const [outer, inner] = [join(top, "outer"), join(top, "outer/inner")];
    await mkdir(inner, { recursive: true });
    await chmod(outer, 0o750);
    await chmod(inner, 0o710);
    expect(await impassable([join(inner, "later")])).toEqual([
      expect.stringMatching(`${outer} \\(mode 0750\\)`),
      expect.stringMatching(`${inner} \\(mode 0710\\)`),
    ]);
    await symlink(outer, join(top, "images"));
    expect(await impassable([join(top, "images")])).toEqual([
      `nodes cannot reach their disks, images and programs: their ids may not pass ${outer} (mode 0750), where ${top}/images leads; ` +
        `chmod o+x ${outer}, or move the state directory`,
    ]);
    await chown(inner, 0, idRange.base);
    await chmod(outer, 0o751);
    expect(await impassable([inner, join(top, "images")])).toEqual([]);
  },
);
