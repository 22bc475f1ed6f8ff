import { expect, test } from "vitest";
import { referencedFiles } from "../../parse/references.ts";
import { readIntent } from "../read.ts";

const files = { "motd.txt": "welcome\n", "conf/a": "A", "conf/sub/b": "B" };
const read = (node: string, more = "") => readIntent(`name: x\n${more}nodes:\n  r1: {template: linux, ${node}}\n`, files);
const nodeOf = (node: string, more = "") => {
  const { lab, diagnostics } = read(node, more);
  if (lab === undefined) throw new Error(JSON.stringify(diagnostics));
  return lab.nodes[0];
};
const problemsOf = (node: string) => read(node).diagnostics.map(({ severity, code, message }) => `${severity} ${code}: ${message}`);

test("files are texts, files and folders of the lab, with mode and owner", () => {
  const node = nodeOf(
    'files: {/etc/plain: "text\\n", /etc/motd: {from: ./motd.txt, mode: 0640, owner: "frr:frr"}, /opt/run: {text: "#!/bin/sh", mode: "755"}, /etc/conf: {from: conf}}',
  );
  expect(node?.files).toEqual({
    "/etc/conf/a": { text: "A" },
    "/etc/conf/sub/b": { text: "B" },
    "/etc/motd": { text: "welcome\n", mode: 0o640, owner: "frr:frr" },
    "/etc/plain": { text: "text\n" },
    "/opt/run": { text: "#!/bin/sh", mode: 0o755 },
  });
  expect(node?.fileSources).toEqual({ "/etc/conf/a": "conf/a", "/etc/conf/sub/b": "conf/sub/b", "/etc/motd": "motd.txt" });
});

test("files are inherited by path, and null takes one away", () => {
  const node = nodeOf("files: {/b: null, /c: own}", "defaults: {files: {/a: one, /b: two, /c: three}}\n");
  expect(node?.files).toEqual({ "/a": { text: "one" }, "/c": { text: "own" } });
  expect(nodeOf("files: null", "defaults: {files: {/a: one}}\n")).not.toHaveProperty("files");
});

test("binds are copies of files and folders of the lab; a file of files has precedence", () => {
  const node = nodeOf('binds: ["motd.txt:/etc/motd:ro", "./conf:/etc/conf/"], files: {/etc/conf/a: mine}');
  expect(node?.files).toEqual({ "/etc/conf/a": { text: "mine" }, "/etc/conf/sub/b": { text: "B" }, "/etc/motd": { text: "welcome\n" } });
});

test("a file of the lab that begins with #! is executable, unless it has a mode of its own", () => {
  const scripts = { "bin/run": "#!/bin/sh\n", "bin/notes": "a\n" };
  const text = (fields: string) => `name: x\nnodes:\n  r1: {template: linux, ${fields}}\n`;
  const modes = (fields: string) =>
    Object.entries(readIntent(text(fields), scripts).lab?.nodes[0]?.files ?? {}).map(([path, { mode }]) => [path, mode]);
  for (const fields of ["files: {/opt: {from: bin}}", "binds: ['bin:/opt:ro']"])
    expect(modes(fields)).toEqual([
      ["/opt/notes", undefined],
      ["/opt/run", 0o755],
    ]);
  expect(modes("files: {/run: {from: bin/run, mode: '0600'}}")).toEqual([["/run", 0o600]]);
});

test("a bind without effect is a warning with its reason", () => {
  expect(
    problemsOf('binds: ["/etc/../passwd:/etc/passwd", "~/x:/x", "absent:/x", "motd.txt:etc", "../x:/x", "motd.txt:/proc/1/x"]'),
  ).toEqual([
    expect.stringMatching(/^warning ignored_key: the bind "\/etc\/\.\.\/passwd:.*is not a path of the machine/),
    expect.stringMatching(/^warning ignored_key: .*is not a path of the machine/),
    expect.stringMatching(/^warning ignored_key: .*no file or folder "absent"/),
    expect.stringMatching(/^warning ignored_key: .*must be an absolute path/),
    expect.stringMatching(/^warning ignored_key: .*\.\./),
    expect.stringMatching(/^warning ignored_key: .*must be an absolute path/),
  ]);
});

test("a bind with an absolute source is a path of the machine, read-only unless rw is among its options", () => {
  const node = nodeOf('binds: ["/srv/data/:/data:rw,z", "/etc/hosts:/etc/h:ro", "/lib/modules:/lib/modules", "motd.txt:/m"]');
  expect(node?.binds).toEqual(["/etc/hosts:/etc/h", "/lib/modules:/lib/modules", "/srv/data:/data:rw"]);
  expect(Object.keys(node?.files ?? {})).toEqual(["/m"]);
  // The same path twice: the last bind wins, and a declared file before all.
  expect(nodeOf('binds: ["/a:/x", "/b:/x"]')?.binds).toEqual(["/b:/x"]);
  expect(nodeOf('binds: ["/a:/x"], files: {/x: text}')?.binds).toBeUndefined();
  expect(problemsOf('kernel: own, binds: ["/a:/x"]')).toEqual([
    expect.stringContaining("a kernel of its own sees no paths of the machine"),
  ]);
});

test("wrong paths, sources, modes and owners are errors", () => {
  for (const path of ["etc/x", "/", "/a/../b", "/a//b", "/a/", "/proc/x", "/sys/x", "/dev/x", "/etc/labwright/exec", '"/a\\nb"'])
    expect([path, problemsOf(`files: {${path}: x}`)[0]]).toEqual([path, expect.stringMatching(/^error invalid_path/)]);
  expect(problemsOf("files: {/a: {from: absent}}")[0]).toMatch(/^error file_not_found/);
  expect(problemsOf("files: {/a: {from: /etc/passwd}}")[0]).toMatch(/^error invalid_path/);
  expect(problemsOf("files: {/a: {from: ../x}}")[0]).toMatch(/^error invalid_path/);
  expect(problemsOf("files: {/a: {mode: 0644}}")[0]).toMatch(/^error missing_key/);
  expect(problemsOf("files: {/a: {text: x, from: motd.txt}}")[0]).toMatch(/^error missing_key/);
  for (const mode of ["4755", "999", "rw", "-1"])
    expect(problemsOf(`files: {/a: {text: x, mode: ${mode}}}`)[0]).toMatch(/^error invalid_value/);
  for (const owner of ["-R", '"a b"', "a:b:c", '"$(id)"'])
    expect(problemsOf(`files: {/a: {text: x, owner: ${owner}}}`)[0]).toMatch(/^error/);
});

test("a node has at most 256 files and a million characters in them", () => {
  const many = Array.from({ length: 257 }, (_, i) => `/f${i}: x`).join(", ");
  expect(problemsOf(`files: {${many}}`)[0]).toMatch(/^error too_large: a node has at most 256 files/);
  expect(problemsOf(`files: {/a: "${"x".repeat(600_000)}", /b: "${"x".repeat(600_000)}"}`)[0]).toMatch(/^error too_large/);
});

test("a client learns which files and folders to send", () => {
  const yaml =
    "name: x\ndefaults: {binds: ['conf:/c', '/etc/x:/y']}\nnodes:\n  r1: {template: linux, files: {/a: {from: motd.txt}, /b: text}}\n";
  expect(referencedFiles(yaml)).toEqual(["conf", "motd.txt"]);
});
