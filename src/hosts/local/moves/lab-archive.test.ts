import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packLab, unpackLab } from "./lab-archive.ts";

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "labwright-move-"));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const isRoot = process.getuid?.() === 0;

/** A lab's directory, with everything that the disk of a node may have. */
function makeLab(): string {
  const directory = join(top, "lab");
  mkdirSync(directory);
  const script = `
    echo '{}' > lab.json; echo '{}' > lab.last.json; echo '{}' > leaving.json
    mkdir -p nodes/1/upper/home/work nodes/1/work/work; cd nodes/1
    touch work/work/left upper/home/work/kept
    truncate -s 64M upper/holes; printf data | dd of=upper/holes bs=1M seek=32 conv=notrunc 2>/dev/null
    echo text > upper/one; ln upper/one upper/two; ln -s ../../../../etc/passwd upper/link; mkfifo upper/fifo
    touch -d '2020-01-02 03:04:05.678' upper/one; chmod 4751 upper/one
    ${isRoot ? "chown 1000033:1000034 upper/one; chmod 4751 upper/one; mknod upper/gone c 0 0; mkdir upper/opaque" : ""}
    ${isRoot ? `mkdir -p ../../../lower/opaque ../../../mount; touch ../../../lower/opaque/old; rmdir upper/opaque` : ""}
  `;
  execFileSync("sh", ["-e", "-c", script], { cwd: directory });
  // The kernel makes the attribute of a folder that hides the one of the image.
  const overlay = `mount -t overlay overlay -o lowerdir=lower,upperdir=lab/nodes/1/upper,workdir=lab/nodes/1/work mount; rm -r mount/opaque; mkdir mount/opaque`;
  if (isRoot) execFileSync("unshare", ["--mount", "sh", "-e", "-c", overlay], { cwd: top });
  return directory;
}

const listed = (directory: string) =>
  execFileSync(
    "sh",
    ["-c", "find . -mindepth 1 ! -path './nodes/1/work*' -printf '%P %M %U %G %n %s %l %T+\\n' | sort | grep -v 'lab.last\\|leaving'"],
    {
      cwd: directory,
      encoding: "utf8",
    },
  );

test("the files of a lab arrive as they are: holes, hard links, owners, times, whiteouts and attributes; work directories arrive empty", {
  timeout: 30_000,
}, async () => {
  const from = makeLab();
  const to = join(top, "there");
  mkdirSync(to);
  let sent = 0;
  const counted = async function* () {
    for await (const part of packLab(from)) {
      sent += part.length;
      yield part;
    }
  };
  const received = await unpackLab(counted(), to);
  expect(received.bytes).toBe(sent);
  expect(received.sha256).toMatch(/^[0-9a-f]{64}$/);
  // The holes are neither sent nor written.
  expect(sent).toBeLessThan(4_000_000);
  const holes = statSync(join(to, "nodes/1/upper/holes"));
  expect([holes.size, holes.blocks < 8_192]).toEqual([64 * 1024 ** 2, true]);
  execFileSync("cmp", [join(from, "nodes/1/upper/holes"), join(to, "nodes/1/upper/holes")]);
  expect(listed(to)).toBe(listed(from));
  expect(execFileSync("ls", ["-A", join(to, "nodes/1/work")], { encoding: "utf8" })).toBe("");
  expect(execFileSync("ls", ["-A", to], { encoding: "utf8" })).toBe("lab.json\nnodes\n");
  if (!isRoot) return;
  const again: Buffer[] = [];
  for await (const part of packLab(to)) again.push(part);
  const text = Buffer.concat(again).toString("latin1");
  expect(text).toContain("SCHILY.xattr.trusted.overlay.opaque=y");
  expect(text).not.toContain("trusted.overlay.origin");
});

test("a stream that breaks is an error, and one that ends early has another digest: the caller compares it", async () => {
  const from = makeLab();
  const parts = async function* (most: number, end?: Error) {
    let left = most;
    for await (const part of packLab(from)) {
      yield part.subarray(0, left);
      left -= part.length;
      if (left <= 0) break;
    }
    if (end !== undefined) throw end;
  };
  const into = (name: string) => {
    mkdirSync(join(top, name));
    return join(top, name);
  };
  await expect(unpackLab(parts(3_000, new Error("the connection broke")), into("broken"))).rejects.toThrow("the connection broke");
  const whole = await unpackLab(parts(1e9), into("whole"));
  const ends = async (bytes: number) =>
    unpackLab(parts(bytes), into(`first ${bytes}`)).then(
      ({ sha256 }) => sha256,
      (error: Error) => error.message,
    );
  for (const bytes of [3_000, 10_240]) expect(await ends(bytes)).not.toBe(whole.sha256);
});
