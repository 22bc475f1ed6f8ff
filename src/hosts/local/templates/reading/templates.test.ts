import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LabNode } from "../../../../intent/lab/lab.ts";
import type { LocalImage } from "../../images/images.ts";
import { bootEnv, bootFiles, hostTemplate, nodeImage, templateFields, templateRules } from "../template.ts";
import { problemText, readTemplate } from "./read-template.ts";
import { builtinTemplates, loadTemplates } from "./templates.ts";

const valid = `id: box
description: A box
type: linux
backend: namespace
images: [base]
interfaces: {format: "eth{0}", max: 4}
boot: [/boot]
console: {type: telnet, argv: [/bin/sh], prompt: '^# $'}
startup-config: true
attributes:
  - {name: speed, label: Speed, type: integer, min: 1, max: 10, default: 5, unit: Mbit/s}
  - {name: is-hub, label: Hub, type: boolean, default: false}
fields:
  {name: live, image: recreate, icon: live, startupConfig: restart, exec: restart, cpu: {unsupported: no limits}, ram: live, ethernet: live,
   position: live, env: restart, attributes: restart, labels: live}
links: live
`;

const base: LocalImage = {
  name: "base",
  description: "",
  rootfs: "/i/base-1/rootfs",
  layers: ["/i/base-1/rootfs"],
  size: 7,
  modified: "2025-01-01T00:00:00Z",
  digest: "1",
};

function node(more: Partial<LabNode>): LabNode {
  return { key: "n", name: "N", template: "box", exec: [], env: {}, attributes: {}, labels: {}, ...more };
}

const vm = `id: box
description: A machine
type: qemu
backend: vm
interfaces: {format: "eth{0}", max: 23}
console: {type: serial}
startup-config: false
vm: {machine: pc, ram: 128}
fields: {name: live, icon: live, position: live, labels: live, ethernet: live, cpu: restart, ram: restart, startupConfig: restart, exec: restart,
  attributes: restart, image: recreate, env: restart}
links: live
`;

function problemsOf(text: string): readonly string[] {
  const { template, problems } = readTemplate("box.yaml", text);
  expect(template === undefined).toBe(problems.length > 0);
  return problems.map(problemText);
}

describe("Labwright's own templates", () => {
  test("are read without a problem and rule every field of a node", async () => {
    const { templates, problems } = await loadTemplates([builtinTemplates]);
    expect(problems.map(problemText)).toEqual([]);
    expect(templates.map((template) => template.id)).toEqual(
      expect.arrayContaining(["container", "frr", "linux", "pc", "qemu", "switch", "vm"]),
    );
    for (const template of templates) {
      expect(Object.keys(template.fields).sort()).toEqual([...templateFields].sort());
      expect(Object.keys(template.reasons).sort()).toEqual(templateFields.filter((f) => template.fields[f] === "unsupported").sort());
    }
  });

  test("of containers are read without a problem, and each has its prompt, its image and its names of interfaces", async () => {
    const { templates, problems } = await loadTemplates([builtinTemplates]);
    expect(problems.map(problemText)).toEqual([]);
    const kinds = templates.filter(({ backend, id, sameAs }) => backend === "container" && id !== "container" && sameAs === undefined);
    const ids = ["arista_ceos", "bird", "cisco_xrd", "cumulus_cvx", "frr-container", "gobgp", "holo", "juniper_crpd", "nokia_srlinux"];
    expect(kinds.map(({ id }) => id)).toEqual([...ids, "openbgpd", "sonic-vs", "vrnetlab", "vyosnetworks_vyos"]);
    for (const kind of kinds) {
      expect(hostTemplate(kind, []).imageSource).toBeDefined();
      expect(Object.keys(kind.fields).sort()).toEqual([...templateFields].sort());
    }
    expect(templates.find(({ id }) => id === "ceos")).toMatchObject({
      sameAs: "arista_ceos",
      ethFormat: "eth{0}|Management0,Ethernet{1}|Ma0,Et{1}",
    });
  });

  test("have prompts that match what their consoles show", async () => {
    const { templates } = await loadTemplates([builtinTemplates]);
    const shown = { linux: ["h1:~# ", "h1:/etc/frr# "], frr: ["r1# ", "r1(config)# ", "r1(config-if)# ", "r1> "], pc: ["pc-1> "] };
    for (const [id, prompts] of Object.entries(shown)) {
      const prompt = new RegExp(templates.find((template) => template.id === id)?.console.prompt ?? "^never$");
      for (const text of prompts) expect(text).toMatch(prompt);
      expect("some output").not.toMatch(prompt);
    }
  });
});

const box = `id: box
also: [carton]
description: A box
type: router
backend: container
image: registry.example/box:1
image-names: [box]
image-source: a shop
interfaces: {format: "e1-{1}", aliases: ["ethernet-1/{1}"], max: 4}
container:
  entrypoint: [/bin/box]
  wrapper: [/bin/sh, /run/start]
  before: [mkdir -p /run/box]
  env: {BOX: "1"}
  files: {/run/start: {text: 'exec "$@"', mode: "0755"}}
  config: {path: /etc/box.conf, mode: "0600"}
  first-process: true
console: {type: telnet, argv: [box-cli], prompt: '^box> $'}
startup-config: true
save: {print: [box-cli, show]}
needs:
  - {means: mounts, for: boxes, without: It does not start, instead: Take a bag, if-config: '^lid'}
  - {setting: fs.inotify.max_user_instances, min: 4000, for: watches, without: It is blind}
fields:
  {name: live, image: recreate, icon: live, startupConfig: restart, exec: restart, cpu: live, ram: live, ethernet: live,
   position: live, env: restart, attributes: restart, labels: live}
links: live
`;

describe("a template of containers", () => {
  test("has the values of the file", () => {
    const { template, problems } = readTemplate("box.yaml", box);
    expect(problems).toEqual([]);
    expect(template).toMatchObject({
      also: ["carton"],
      usualImage: "registry.example/box:1",
      ethFormat: "e1-{1}|ethernet-1/{1}",
      container: {
        entrypoint: ["/bin/box"],
        files: [{ path: "/run/start", mode: 0o755, text: 'exec "$@"' }],
        config: { path: "/etc/box.conf", mode: 0o600 },
        isFirstProcess: true,
      },
      save: { print: ["box-cli", "show"] },
      needs: [{ what: { means: "mounts" }, for: "boxes", without: "It does not start", instead: "Take a bag", ifConfig: "^lid" }, {}],
    });
    expect(templateRules(template!, [])).toMatchObject({ image: "registry.example/box:1", imageSource: "a shop" });
  });

  test.each([
    ["an image beside images", box.replace("image-names:", "images: [a]\nimage-names:"), "image is the default of a container template"],
    ["a name that the kernel cannot have", box.replace('"e1-{1}"', '"ethernet-1/{1}"'), "format has names of the Linux kernel here"],
    ["a path that is not absolute", box.replace("/run/start: {", "run/start: {"), "run/start is not an absolute path"],
    ["a mode without quotes", box.replace('mode: "0600"', "mode: 384"), "mode must be a mode in quotes"],
    ["an unknown need", box.replace("means: mounts", "means: mount"), "did you mean mounts?"],
    ["a need of two things", box.replace("means: mounts", "means: mounts, kvm: true"), "a need has one of means"],
    ["two ways to save", box.replace("print:", "argv: [a], print:"), "save needs argv, console or print, one of them"],
    [
      "a container of another backend",
      valid.replace("links: live", "links: live\ncontainer: {}"),
      "container is only for backend container",
    ],
  ])("reports %s", (_, text, message) => {
    expect(problemsOf(text).join("\n")).toContain(message);
  });
});

describe("reading a template", () => {
  test("gives the login and the pager of its console, whole or not at all", () => {
    const with_ = (more: string) => valid.replace("prompt: '^# $'}", () => `prompt: '^# $', ${more}}`);
    const { template, problems } = readTemplate(
      "box.yaml",
      with_("login: {username: u, password: p}, pager: {pattern: '^<more>$', key: space}"),
    );
    expect(problems).toEqual([]);
    const traits = { login: { username: "u", password: "p" }, pager: { pattern: "^<more>$", key: " " } };
    expect(template?.console).toMatchObject(traits);
    expect(hostTemplate(template!, [base])).toMatchObject(traits);
    expect(problemsOf(with_("login: {password: p}"))[0]).toContain("username");
    expect(problemsOf(with_("pager: {pattern: '('}")).length).toBe(2);
  });

  test("has the values of the file", () => {
    const { template, problems } = readTemplate("box.yaml", valid);
    expect(problems).toEqual([]);
    expect(template).toMatchObject({
      id: "box",
      images: ["base"],
      ethFormat: "eth{0}",
      maxInterfaces: 4,
      console: { type: "telnet", argv: ["/bin/sh"], prompt: "^# $" },
      reasons: { cpu: "no limits" },
      links: "live",
    });
    expect(template?.fields).toMatchObject({ cpu: "unsupported", image: "recreate" });
  });

  test.each([
    ["an unknown key", valid.replace("links: live", "links: live\nlink: 1"), 'box.yaml:17:1: unknown key "link"; did you mean "links"?'],
    ["a missing key", valid.replace("description: A box\n", ""), 'key "description" is missing'],
    ["a key given twice", `${valid}links: live\n`, "box.yaml:17:1: Map keys must be unique"],
    ["broken YAML", valid.replace("images: [base]", "images: [base"), "box.yaml:"],
    ["a wrong type", valid.replace("startup-config: true", "startup-config: yes"), "box.yaml:9:17: startup-config must be true or false"],
    ["an unknown word", valid.replace("links: live", "links: hot"), "box.yaml:16:8: links must be one of live, restart, recreate"],
    ["a word that is nearly right", valid.replace("type: integer", "type: intger"), "did you mean integer?"],
    ["an unknown field rule", valid.replace("name: live", "name: never"), "box.yaml:14:10: name must be one of"],
    ["a default out of range", valid.replace("default: 5", "default: 50"), "default must be a number from 1 to 10"],
    ["a default of another type", valid.replace("default: false", "default: 1"), "default must be true or false"],
    ["a prompt that is no regular expression", valid.replace("'^# $'", "'('"), "Invalid regular expression"],
    ["a namespace template without an image", valid.replace("images: [base]", "images: []"), "needs at least one image"],
    ["a console without its command", valid.replace("argv: [/bin/sh], ", ""), "a console of type telnet needs argv"],
    ["a bridge with a process", valid.replace("backend: namespace", "backend: bridge"), "a bridge has no process"],
    ["a way to save without the file", valid.replace("links: live", "links: live\nsave: {argv: [x]}"), "save needs saved-config"],
    [
      "two ways to save",
      valid.replace("links: live", "links: live\nsaved-config: /x\nsave: {argv: [x], console: save}"),
      "save needs argv, console or print, one of them",
    ],
    ["no way to save", valid.replace("links: live", "links: live\nsaved-config: /x\nsave: {}"), "save needs argv, console or print"],
    ["a name format without an index", valid.replace("eth{0}", "eth"), "a name with {0} or {1} at its end"],
    ["more interfaces than a machine has slots", vm.replace("max: 23", "max: 24"), "max must be a number from 1 to 23"],
    ["plugging that its machine cannot do", vm.replace("machine: pc", "machine: q35"), "only machine pc takes interfaces while it runs"],
    ["an argument that is not allowed", vm.replace("ram: 128", "arguments: -monitor stdio"), "-monitor"],
    ["a file that is a list", "- id: box\n", "the file must be a map"],
  ])("reports %s with its place", (_, text, message) => {
    expect(problemsOf(text).join("\n")).toContain(message);
  });

  test("of a virtual machine gives its settings", () => {
    const { template, problems } = readTemplate("box.yaml", vm);
    expect(problems).toEqual([]);
    expect(template).toMatchObject({ backend: "vm", maxInterfaces: 23, vm: { machine: "pc", ram: 128 } });
  });

  test("reports all problems at once", () => {
    expect(problemsOf(valid.replace("links: live", "links: hot").replace("id: box", "id: Box"))).toHaveLength(2);
  });
});

const child = `id: ours
description: A machine with names of its own
extends: box
interfaces: {format: "Mgmt1,Ethernet{1}", count: 2}
console: {prompt: '^> $'}
vm: {nic: e1000, ram: 64}
fields: {exec: {unsupported: it has none}}
software: {name: Ours, files: ["ours-*.qcow2"], source: "https://ours.example", license: a licence}
`;

describe("a template that extends another one", () => {
  const parent = readTemplate("box.yaml", `${vm}attributes: [{name: nic, label: NIC, type: string, default: virtio-net-pci}]\n`).template!;
  const find = (id: string) => (id === "box" ? parent : undefined);
  const read = (text: string) => readTemplate("ours.yaml", text, find);

  test("has what its file omits from there", () => {
    const { template, problems } = read(child);
    expect(problems).toEqual([]);
    expect(template).toEqual({
      ...parent,
      id: "ours",
      description: "A machine with names of its own",
      ethFormat: "Mgmt1,Ethernet{1}",
      ethernet: 2,
      console: { ...parent.console, prompt: "^> $" },
      vm: { ...parent.vm, nic: "e1000", ram: 64 },
      // Its own property of this name is the default.
      attributes: [{ ...parent.attributes[0], default: "e1000" }],
      fields: { ...parent.fields, exec: "unsupported" },
      reasons: { exec: "it has none" },
      software: { name: "Ours", files: ["ours-*.qcow2"], source: "https://ours.example", license: "a licence" },
      extends: "box",
      file: "ours.yaml",
    });
    expect(templateRules(template!, [])).toMatchObject({ ethernet: 2, ethFormat: "Mgmt1,Ethernet{1}", maxInterfaces: 23 });
  });

  test.each([
    ["a template that is not there", child.replace("extends: box", "extends: bx"), "ours.yaml:3:10: extends names"],
    ["another backend", `${child}backend: container\n`, "backend is the one of box, which this template extends"],
    ["an unknown key", child.replace("extends:", "extend:"), 'unknown key "extend"'],
    ["a missing id", child.replace("id: ours\n", ""), 'key "id" is missing'],
    ["names without a number", child.replace("Ethernet{1}", "Ethernet"), "a name with {0} or {1} at its end"],
    ["names with three numbers", child.replace("Ethernet{1}", "E{1}/{2}/{3}"), "a name with {0} or {1} at its end"],
    ["more interfaces than it can have", child.replace("count: 2", "count: 24"), "count must be a number from 0 to 23"],
    ["software without a file", child.replace('["ours-*.qcow2"]', "[]"), "files names at least one file"],
  ])("reports %s", (_, text, message) => {
    expect(read(text).problems.map(problemText).join("\n")).toContain(message);
  });
});

describe("template directories", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "labwright-templates-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  test("of the user replace a template of the same id and add others", async () => {
    await writeFile(join(directory, "a.yaml"), valid);
    await writeFile(join(directory, "b.yaml"), valid.replace("id: box", "id: linux"));
    await writeFile(join(directory, "notes.txt"), "not a template");
    const { templates, problems } = await loadTemplates([builtinTemplates, directory]);
    expect(problems).toEqual([]);
    expect(templates.map((template) => template.id)).toEqual(expect.arrayContaining(["box", "container", "frr", "linux", "vm"]));
    expect(templates.find((template) => template.id === "linux")?.description).toBe("A box");
  });

  test("may have folders; a template extends the one of its id that is in use", async () => {
    const memory = new Map();
    const described = async () => (await loadTemplates([directory], memory)).templates.map(({ id, need }) => [id, need]);
    await mkdir(join(directory, "more"));
    await writeFile(join(directory, "more", "a.yaml"), "id: a\ndescription: A\nextends: box\n");
    expect((await loadTemplates([directory], memory)).problems.map(({ message }) => message).join()).toContain('no such template "box"');
    await writeFile(join(directory, "z.yaml"), `${valid}need: 5\n`);
    expect(await described()).toEqual([
      ["a", 5],
      ["box", 5],
    ]);
    await writeFile(join(directory, "z.yaml"), `${valid}need: 789\n`);
    expect(await described()).toEqual([
      ["a", 789],
      ["box", 789],
    ]);
  });

  test("may be absent; a broken file or a second file of one id is reported and hides no other", async () => {
    await writeFile(join(directory, "a.yaml"), valid);
    await writeFile(join(directory, "b.yaml"), valid.replace("links: live", "links: hot"));
    await writeFile(join(directory, "c.yaml"), valid);
    const { templates, problems } = await loadTemplates([directory, join(directory, "absent")]);
    expect(templates.map((template) => template.file)).toEqual([join(directory, "a.yaml")]);
    expect(problems.map((problem) => problem.file)).toEqual([join(directory, "b.yaml"), join(directory, "c.yaml")]);
  });

  test("that was valid before stays in use while its file has a problem, also for templates that extend it, until the file is valid or removed", async () => {
    const memory = new Map();
    const file = join(directory, "a.yaml");
    const read = async () => {
      const { templates, problems } = await loadTemplates([directory], memory);
      return [templates.map(({ id, description }) => `${id}: ${description}`), problems.map(({ message }) => message)];
    };
    await writeFile(file, valid);
    await writeFile(join(directory, "b.yaml"), "id: crate\nextends: box\ndescription: A crate\n");
    expect(await read()).toEqual([["box: A box", "crate: A crate"], []]);
    await writeFile(file, valid.replace("links: live", "links: live\nspeed: 7"));
    expect(await read()).toEqual([
      ["box: A box", "crate: A crate"],
      [expect.stringMatching(/^unknown key "speed"/), "the last version without problems stays in use until the service restarts"],
    ]);
    await writeFile(file, "");
    expect((await read())[0]).toEqual(["box: A box", "crate: A crate"]);
    await writeFile(file, valid.replace("A box", "A better box"));
    expect(await read()).toEqual([["box: A better box", "crate: A crate"], []]);
    await rm(file);
    await read();
    await writeFile(file, "id: box");
    expect((await read())[0]).toEqual(["crate: A crate"]);
  });
});

describe("a template in use", () => {
  const template = readTemplate("box.yaml", valid).template;
  if (template === undefined) throw new Error("the template of this test is broken");

  test("is provisioned once its image is there", () => {
    expect(hostTemplate(template, [])).toMatchObject({ provisioned: false, images: [] });
    expect(hostTemplate(template, [base])).toMatchObject({ provisioned: true, images: [{ name: "base", default: true, size_bytes: 7 }] });
  });

  test("gives the engine its defaults and rules", () => {
    expect(templateRules(template, []).images).toEqual([]);
    expect(templateRules(template, [base])).toMatchObject({
      image: "base",
      images: ["base"],
      why: { cpu: "no limits" },
      attributes: { speed: 5, "is-hub": false },
      fields: { cpu: "unsupported" },
    });
  });

  test("runs its default image, or one of its own by name", () => {
    expect(nodeImage(template, [base], undefined)).toBe(base);
    expect(nodeImage(template, [base], "default")).toBe(base);
    expect(nodeImage(template, [base], "base")).toBe(base);
    expect(nodeImage(template, [{ ...base, name: "other" }], "other")).toBeUndefined();
    expect(nodeImage(template, [], undefined)).toBeUndefined();
  });

  test("hands attributes to the boot command as environment, the node's own env untouched", () => {
    expect(bootEnv(template, node({ env: { A: "b" }, attributes: { speed: 7 } }))).toEqual({
      A: "b",
      LABWRIGHT_NODE: "N",
      LABWRIGHT_SPEED: "7",
      LABWRIGHT_IS_HUB: "false",
    });
  });

  test("writes the name, which makes the directory of the others, one exec command a line, and both files even when there is nothing to say", () => {
    expect(bootFiles(node({})).map((file) => file.text)).toEqual(["N\n", "", ""]);
    const files = bootFiles(node({ startupConfig: "x\n", exec: ["echo 'a\\b'", "echo 1\necho 2"] }));
    expect(files.map((file) => file.text)).toEqual(["N\n", "x\n", "echo 'a\\\\b'\necho 1\\necho 2\n"]);
  });
});

test("a switch has VLANs if the image of Open vSwitch is on the host; otherwise the plan names the next step", async () => {
  const { templates } = await loadTemplates([builtinTemplates]);
  const bridge = templates.find(({ id }) => id === "switch")!;
  expect(templateRules(bridge, [{ ...base, name: "openvswitch" }]).fields["switching"]).toBe("live");
  const without = templateRules(bridge, [base]);
  expect([without.fields["switching"], without.why?.["switching"]]).toEqual([
    "unsupported",
    "it needs the image openvswitch, which is not on this host: labwright setup builds it",
  ]);
});

test("the daemons of the template frr are a list of words for the plan, which the catalogue does not have", async () => {
  const { templates } = await loadTemplates([builtinTemplates]);
  const frr = templates.find(({ id }) => id === "frr")!;
  const rule = templateRules(frr, []).values?.["attributes.daemons"];
  expect(rule).toMatchObject({ words: expect.arrayContaining(["ospfd"]), usual: "auto" });
  expect(hostTemplate(frr, []).attributes).toEqual([expect.not.objectContaining({ words: expect.anything() })]);
  const shell = await readFile(join(import.meta.dirname, "../../setup/rootfs/frr/usr/lib/labwright/frr-daemons"), "utf8");
  expect(shell).toContain(`frr_known="${rule?.words?.join(" ")}"`);
});
