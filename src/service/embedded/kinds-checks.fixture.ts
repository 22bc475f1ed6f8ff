import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SaveConfigsData } from "../../contract/schemas/save.ts";
import { until } from "../service.fixture.ts";
import { type Kind, type KindsService, kindsService, labOfKinds } from "./kinds.fixture.ts";

/** Tests these kinds in one lab of one service. */
export function kindTests(some: readonly Kind[]): void {
  describe.skipIf(process.getuid?.() !== 0)("kinds of containers", () => {
    let service: KindsService;
    const lab = labOfKinds(some);

    beforeAll(async () => {
      service = await kindsService(some);
      await service.post("deployProject", lab);
      await until(async () => {
        const { live } = await service.post("getProjectStatus", lab);
        return live?.nodes?.every(({ ready, status }) => status === "running" && ready === true) === true;
      });
    });
    afterAll(() => service[Symbol.asyncDispose]());

    const read = async (node: string, path: string) => {
      const { nodes = [] } = (await service.local.session.observe("/kinds")) ?? {};
      const id = nodes.find(({ name }) => name === node)?.id;
      const { code, stdout, stderr } = await (await service.local.sandbox("/kinds")).exec(Number(id), ["cat", path], { timeoutMs: 60_000 });
      if (code !== 0) throw new Error(`${node}: ${stderr}`);
      return stdout;
    };

    describe.each(some.map((kind) => [kind.template, kind] as const))("%s", (node, kind) => {
      test("is started as its software expects it, with its startup-config and the names of its interfaces", async () => {
        expect((await read(node, "/run/stand-in.argv")).trim()).toMatch(kind.argv);
        expect(await read(node, "/run/stand-in.config")).toBe(kind.startup);
        expect((await read(node, "/run/stand-in.links")).split("\n")).toContain(kind.interface[1]);
        expect((await read(node, "/run/stand-in.pid")).trim() === "1").toBe(kind.isFirst === true);
        expect(await read(node, "/run/stand-in.directory")).toBe("drwxr-x--- root\n");
        const env = await read(node, "/run/stand-in.env");
        for (const [name, value] of Object.entries(kind.env ?? {})) expect(valueIn(env, name)).toMatch(value);
        expect(valueIn(env, "LABWRIGHT_NODE")).toBe(node);
        expect((await read(node, `/sys/class/net/${kind.interface[1]}/carrier`)).trim()).toBe("1");
      });

      test("answers on its console", async () => {
        const command = kind.prompt === "/ # " ? "echo hello" : "show version";
        const { output } = await service.post("execConsole", { lab: "/kinds", node, command, timeout_ms: 60_000 });
        const isShell = /^(?:root@.*|\/ )# $/.test(kind.prompt);
        if (kind.prompt === "/ # ") expect(output).toBe("hello");
        else if (isShell) expect(output).toMatch(/show: not found/);
        else expect(output).toBe(`${node} has read: show version`);
      });

      test("is shown with the interface as its link calls it", async () => {
        const { nodes } = await service.post("inspectProject", { lab: "/kinds" });
        const found = nodes.find(({ name }) => name === node);
        expect(found?.interfaces.find(({ peer }) => peer !== undefined)).toMatchObject({ name: kind.interface[0] });
      });
    });

    test("are warned about before their start if they need what the host does not give", async () => {
      const fresh = { ...lab, yaml: lab.yaml.replace("name: kinds", "name: fresh") };
      const { warnings = [], text } = await service.post("planProject", fresh);
      const checked = await service.post("validateProject", fresh);
      for (const template of ["arista_ceos", "nokia_srlinux"]) {
        const told = (one: { readonly code: string; readonly message: string }) =>
          one.code === "node_needs" && one.message.includes(template);
        expect(warnings.some(told)).toBe(true);
        expect(checked.warnings?.some(told)).toBe(true);
      }
      // Its configuration uses neither MPLS nor VRFs.
      expect(warnings.filter(({ message }) => message.includes("frr-container"))).toEqual([]);
      expect(text).toContain("template arista_ceos needs control groups of its own, which its nodes do not get here: systemd starts EOS");
    });

    test("have nothing to change after their deploy", async () => {
      expect((await service.post("planProject", { ...lab, prune: true })).actions).toEqual([]);
    });

    test("save their configurations", async () => {
      const { nodes, files = {} } = (await service.post("saveConfigs", lab)) as SaveConfigsData;
      for (const { template, saved } of some) {
        const result = nodes.find(({ node }) => node === template);
        if (saved === undefined) expect(result).toMatchObject({ outcome: "skipped", code: "unsupported" });
        else expect(files[`${template}.cfg`]).toContain(saved);
      }
    });

    test("are stopped and started again with the configuration that they saved", async () => {
      const names = some.filter(({ template }) => ["frr-container", "arista_ceos"].includes(template)).map(({ template }) => template);
      await service.post("execProject", { lab: "/kinds", action: "stop", nodes: names, stopmode: 0 });
      await service.post("execProject", { lab: "/kinds", action: "start", nodes: names });
      for (const name of names) {
        await until(async () => (await read(name, "/run/stand-in.config").catch(() => "")) !== "");
        expect(await read(name, "/run/stand-in.config")).toBe("saved by the stand-in\n");
      }
    });
  });
}

function valueIn(text: string, name: string): string {
  return (
    text
      .split("\n")
      .find((line) => line.startsWith(`${name}=`))
      ?.slice(name.length + 1) ?? ""
  );
}
