import { expect, test } from "vitest";
import { imported } from "../testing.fixture.ts";
import { SourceFiles } from "./source-files.ts";

const lab = `name: dc
topology:
  nodes:
    r1: {kind: linux, image: "frrouting/frr", startup-config: configs/r1.conf, binds: ["../secret:/x", "data:/data"]}
    r2: {kind: linux, image: "frrouting/frr"}
  links: [{endpoints: ["r1:eth1", "r2:eth1"]}]
`;

test("a file that was not given is reported as such, and one outside the folder of the lab as well", () => {
  const messages = (files: Readonly<Record<string, string>>) =>
    imported(files, { path: "dc.clab.yml" }).report.flatMap(({ path, message }) => (/startup-config|binds/.test(path) ? [message] : []));
  expect(messages({ "dc.clab.yml": lab })).toEqual([
    "configs/r1.conf was not given: import the folder of the lab, or an archive of it",
    "../secret is outside the folder of the lab",
    "data was not given: import the folder of the lab, or an archive of it",
  ]);
  expect(messages({ "dc.clab.yml": lab, "data/a": "1" })).toEqual([
    "there is no file or folder configs/r1.conf beside the lab",
    "../secret is outside the folder of the lab",
    "the node gets a copy of data/a",
  ]);
});

test("a source that is one file notes which files its lab names, and none outside its folder", () => {
  const files = new SourceFiles(new Map([["a/lab.yml", Buffer.from("")]]));
  files.beside("a/lab.yml", "../b/config");
  files.beside("a/lab.yml", "../../etc/passwd");
  files.beside("a/lab.yml", "/etc/passwd");
  files.below("a/lab.yml", "data/");
  files.below("a/lab.yml", "..");
  expect(files.wanted).toEqual(["a/data", "b/config"]);
});
