import { expect, test } from "vitest";
import { besideLab, isForeign, pastedSource, readSource } from "./import-source.ts";
import type { PickedFile } from "./picked-files.ts";

const picked = (path: string, content: string | Uint8Array<ArrayBuffer>): PickedFile => ({
  path,
  file: new File([content], path.split("/").at(-1) ?? path),
});
const binary = Uint8Array.of(0x50, 0x4b, 3, 4, 0xff, 0xfe);

test("the files of a folder are sent with their paths; those that are no texts are left out", async () => {
  const source = await readSource([picked("lab/lab.conf", "pc1[0]=A\n"), picked("lab/pc1/etc/hosts", "x"), picked("lab/logo.png", binary)]);
  expect(source).toMatchObject({ input: { files: { "lab/lab.conf": "pc1[0]=A\n", "lab/pc1/etc/hosts": "x" } }, leftOut: ["lab/logo.png"] });
});

test("one text is sent as text, with its name alone", async () => {
  expect(await readSource([picked("lab/a.unl", "<lab/>")])).toMatchObject({ input: { filename: "a.unl", text: "<lab/>" } });
});

test.each([
  ["an archive among other files", [picked("a.zip", binary), picked("b.yaml", "x")], "a.zip is an archive: choose it alone."],
  ["too much", [picked("a.yaml", "x".repeat(25 * 2 ** 20))], "25 MiB: the page reads at most 24 MiB"],
])("%s is refused with the next step", async (_name, files, message) => {
  await expect(readSource(files)).rejects.toThrow(message);
});

test("the paths of files are relative to the folder of the outermost YAML file", () => {
  expect(besideLab({ "a/inner/vars.yml": "1", "a/lab.yaml": "2", "a/r1.conf": "3" }).map(([path]) => path)).toEqual([
    "inner/vars.yml",
    "lab.yaml",
    "r1.conf",
  ]);
});

test("names of other tools are known, and a single pasted line is no lab", () => {
  expect(
    [{ filename: "a.UNL" }, { files: { "x/y.gns3": "" } }, { filename: "a.yaml" }].map((input) => isForeign({ input, leftOut: [] })),
  ).toEqual([true, true, false]);
  expect([pastedSource("r1.conf"), pastedSource("a\nb")?.input.text]).toEqual([undefined, "a\nb"]);
});
