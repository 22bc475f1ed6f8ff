import { expect, test } from "vitest";
import { editIntent } from "../../edit/edit.ts";
import type { Lab } from "../../lab/lab.ts";
import { referencedFiles } from "../../parse/references.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const yaml = `name: x
addressing: true
vars: {site: berlin}
groups:
  core: {startup-config: {template: conf/router.j2}}
nodes:
  r1: {template: frr, group: core, labels: {role: edge}}
  r2: {template: frr, group: core}
  h1: {template: linux, startup-config: {template: host.j2}}
  h2: {template: linux}
links: [r1-r2, r1-h1]
`;
const files = {
  "conf/router.j2": `hostname {{ node.key }}-{{ vars.site }}
{% for interface in interfaces %}
interface {{ interface.name }}
 description to {{ interface.neighbors | map(attribute="node") | join(", ") }}
exit
{% endfor %}
router bgp 65000
 bgp router-id {{ node.loopback.ipv4_address }}
{% for other in nodes %}
{% if other.template == "frr" and other.key != node.key %}
 neighbor {{ other.loopback.ipv4_address }} remote-as 65000
{% endif %}
{% endfor %}
`,
  "host.j2": "echo {{ lab.name }} {{ interfaces[0].ipv4_netmask }} {{ addresses.eth1[0] }} {{ neighbors[0].node }}\n",
};

function read(): Lab {
  const { lab, diagnostics } = readIntent(yaml, files);
  expect(diagnostics).toEqual([]);
  return lab as Lab;
}

const configOf = ({ nodes }: Lab, key: string) => nodes.find((node) => node.key === key)?.startupConfig ?? "";

test("a template is rendered for each node, with its addresses, neighbors and variables", () => {
  const lab = read();
  expect(configOf(lab, "r1")).toMatch(/^hostname r1-berlin\ninterface lo\n ip address 10\.255\.\S+\nexit\n!\ninterface eth1\n ip address /);
  expect(configOf(lab, "r1")).toContain(
    "interface eth1\n description to r2\nexit\ninterface eth2\n description to h1\nexit\nrouter bgp 65000\n bgp router-id 10.255.25.111\n neighbor 10.255.25.112 remote-as 65000\n",
  );
  expect(configOf(lab, "h1")).toMatch(/^echo x 255\.255\.255\.254 10\.9\.\d+\.\d+\/31 r1\n$/);
  expect(configOf(lab, "h2")).toBe("");
  expect(lab.nodes.every(({ startupConfigFile }) => startupConfigFile === undefined)).toBe(true);
});

test("the files of templates are among those that a lab names, and a printed lab has the rendered texts", () => {
  expect(referencedFiles(yaml)).toEqual(["conf/router.j2", "host.j2"]);
  const lab = read();
  const printed = printLab(lab);
  expect(printed.files).toEqual({});
  const { inherited: _inherited, ...structure } = lab;
  expect(readIntent(printed.yaml).lab).toEqual(structure);
});

test("a mistake in a template has its place in the file, once for all nodes", () => {
  const wrong = { ...files, "conf/router.j2": "hostname {{ node.key }}\n{{ node.lables.role }}\n" };
  expect(readIntent(yaml, wrong).diagnostics).toMatchObject([
    {
      code: "template_error",
      file: "conf/router.j2",
      line: 2,
      column: 9,
      message: 'node r1: "node.lables" is not defined',
      hint: 'known: key, name, template, image, groups, labels, attributes, env, loopback; for a value that may be missing, write | default("")',
    },
  ]);
  expect(readIntent(yaml, { ...files, "host.j2": "{% if %}" }).diagnostics).toMatchObject([
    { code: "template_error", file: "host.j2", line: 1, column: 6 },
  ]);
  expect(readIntent(yaml, { "host.j2": "" }).diagnostics).toMatchObject([{ code: "file_not_found", line: 5 }]);
});

test("a template with a NUL character or half of a surrogate pair is refused, as a text of the lab is", () => {
  for (const [text, problem] of [
    ["a\0", '"template": "host.j2" has a NUL character'],
    ["a\ud800b", '"template": "host.j2" has half of a surrogate pair'],
  ] as const)
    expect(readIntent(yaml, { ...files, "host.j2": text }).diagnostics).toMatchObject([
      { code: "invalid_value", message: problem, line: 9 },
    ]);
  expect(readIntent(yaml, { ...files, "host.j2": "a 😀\n" }).diagnostics).toEqual([]);
});

test("templates of a lab share one budget", () => {
  const nested = `${"{% for a in nodes %}".repeat(12)}${"{% endfor %}".repeat(12)}`;
  expect(readIntent(yaml, { ...files, "host.j2": nested }).diagnostics).toMatchObject([
    { code: "template_error", message: expect.stringContaining("too many steps") },
  ]);
  const long = "{% for a in nodes %}".repeat(8) + "y".repeat(1000) + "{% endfor %}".repeat(8);
  expect(readIntent(yaml, { ...files, "host.j2": long }).diagnostics).toMatchObject([
    { code: "template_error", message: expect.stringContaining("more than 1048576 characters") },
  ]);
});

test("an edit keeps templates, and refuses a change of what they make", () => {
  const lab = read();
  const nodes = lab.nodes.map((node) => (node.key === "r2" ? { ...node, ram: 128 } : node));
  expect(editIntent(yaml, files, { ...lab, nodes })).toEqual({
    yaml: yaml.replace("r2: {template: frr, group: core}", "r2: {template: frr, group: core, ram: 128}"),
    files,
  });
  const other = lab.nodes.map((node) => (node.key === "r1" ? { ...node, startupConfig: `${node.startupConfig}!\n` } : node));
  expect(() => editIntent(yaml, files, { ...lab, nodes: other })).toThrow(
    /line 5: the startup-config of node r1 is rendered from the template conf\/router\.j2/,
  );
});

test("a template that is not named as one is a warning", () => {
  const warnings = (file: string, text: string) =>
    readIntent(`name: x\nnodes: {r1: {template: frr, startup-config: ${file}}, r2: {template: frr}}\n`, { [file]: text }).diagnostics;
  expect(warnings("core.j2", "hostname r1\n")).toMatchObject([
    { severity: "warning", code: "unrendered_template", line: 2, hint: "write startup-config: {template: core.j2}" },
  ]);
  expect(warnings("core.conf", "hostname {{ node.key }}\n")).toHaveLength(1);
  expect(warnings("core.conf", "{% for one in interfaces %}\n{% endfor %}\n")).toHaveLength(1);
  expect(warnings("core.conf", "hostname r1\n")).toEqual([]);
  expect(warnings("core.conf", "## template: jinja\n#cloud-config\nhostname: {{ ds.meta_data.name }}\n")).toEqual([]);
});
