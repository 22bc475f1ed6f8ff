import { describe, expect, it } from "vitest";
import type { Lab } from "../../../intent/lab/lab.ts";
import type { ObservedLab } from "../../model/observed.ts";
import type { HostRules } from "../../model/plan.ts";
import type { PlanInput } from "../plan-lab.ts";

import { host, lab, link, node, plan, rules, template, triangle } from "./plan.fixture.ts";

describe("what a host cannot do, in the plan of a lab", () => {
  it("blocks actions that the host cannot do, with every reason", () => {
    const desired = lab(
      [
        node("a", { template: "none" }),
        node("b", { image: "nope" }),
        node("c", { template: "bare" }),
        node("d", { ethernet: 1 }),
        node("e"),
      ],
      [link("d:eth1", "e:eth0"), link("d:eth0", "e:eth8"), link("e:Ethernet1", "lan")],
      { networks: [{ key: "lan", name: "lan", type: "cloud9" }] },
    );
    const planned = plan(desired, null);
    expect(planned.applicable).toBe(false);
    expect(planned.blocked.map(({ key, reason }) => `${key}: ${reason.code}`)).toEqual([
      "lan: unknown_network_type",
      "a: unknown_template",
      "b: unknown_image",
      "c: no_image",
      "d:eth0 -- e:eth8: unknown_interface",
      "d:eth1 -- e:eth0: unknown_interface",
      "e:Ethernet1 -- lan: unknown_interface",
    ]);
    expect(planned.text).toContain("did you mean eth1?");
    expect(planned.text).toContain(
      "! node b: template linux has no image nope; it has base, big; leave image out to take base (unknown_image)",
    );
  });

  it("lists at most 30 images of a template", () => {
    const images = Array.from({ length: 200 }, (_, i) => `image-${String(i).padStart(3, "0")}`);
    const many: HostRules = { ...rules, templates: rules.templates.map((one) => (one.id === "linux" ? { ...one, images } : one)) };
    const { text } = plan(lab([node("b", { image: "nope" })]), null, { rules: many });
    expect(text).toContain("image-029, and 170 others");
    expect(text).not.toContain("image-030");
  });

  it("names the file that a missing image is made from", () => {
    const needs = "the file vios-*.qcow2 of Cisco IOSv from Cisco Modeling Labs, which needs a licence";
    const vendor = (images: readonly string[]): HostRules => ({
      ...rules,
      templates: rules.templates.map((one) =>
        one.id === "linux" ? { ...one, image: undefined, images, needs } : one,
      ) as HostRules["templates"],
    });
    const next = `. It needs ${needs}; on the machine of the service: labwright image add FILE`;
    expect(plan(lab([node("a")]), null, { rules: vendor([]) }).text).toContain(
      `! node a: template linux has no image on the host${next} (no_image)`,
    );
    const other = plan(lab([node("a", { image: "vios-15" })]), null, { rules: vendor(["vios-16"]) });
    expect(other.text).toContain(
      `! node a: template linux has no image vios-15; did you mean vios-16? It has vios-16${next} --name vios-15 (unknown_image)`,
    );
  });

  it("takes each name of an interface, and blocks two links at one interface by two names", () => {
    const named: HostRules = { ...rules, templates: [template("srl", { ethFormat: "e1-{1}|ethernet-1/{1}" }), template("linux")] };
    const nodes = [node("a", { template: "srl" }), node("b"), node("c")];
    const planned = plan(lab(nodes, [link("a:ethernet-1/1", "b:eth0"), link("a:e1-2", "c:eth0")]), null, { rules: named });
    expect(planned.blocked).toEqual([]);
    const twice = plan(lab(nodes, [link("a:ethernet-1/1", "b:eth0"), link("a:e1-1", "c:eth0")]), null, { rules: named });
    expect(twice.blocked.map(({ reason }) => reason.text)).toContain(
      "a:e1-1 and a:ethernet-1/1 are the same interface, which has one link",
    );
  });

  it("deletes a link before the link that takes its interface by another name", () => {
    const named: HostRules = { ...rules, templates: [template("srl", { ethFormat: "e1-{1}|ethernet-1/{1}" }), template("linux")] };
    const nodes = [node("a", { template: "srl" }), node("b")];
    const before = host(lab(nodes, [link("a:ethernet-1/1", "b:eth0")]));
    const planned = plan(lab(nodes, [link("a:e1-1", "b:eth0")]), before, { rules: named, prune: false });
    expect(planned.operations.map(({ step }) => step.do)).toEqual(["delete-link", "create-link"]);
    expect(planned.blocked).toEqual([]);
  });

  it("names where to get an image that is not there, and blocks no default image that is pulled", () => {
    const shop = { image: "registry.example/box:1", images: [], imageSource: "box.example, with an account" };
    const withRules = (registries: readonly string[]): HostRules => ({
      ...rules,
      templates: [template("box", { ...shop, pulls: { registries } })],
    });
    const wanted = lab([node("a", { template: "box" })]);
    const [blocked] = plan(wanted, null, { rules: withRules([]) }).blocked;
    expect(blocked?.reason).toMatchObject({
      code: "no_image",
      text: expect.stringContaining("Where to get it: box.example, with an account"),
    });
    expect(plan(wanted, null, { rules: withRules(["registry.example"]) }).blocked).toEqual([]);
  });

  it("blocks values that a template's rules do not allow, if it has rules", () => {
    const bounded: HostRules = {
      ...rules,
      templates: rules.templates.map((template) =>
        template.id === "linux"
          ? {
              ...template,
              values: {
                cpu: { type: "integer", min: 1, max: 4 },
                "attributes.forwarding": { type: "boolean" },
                "attributes.speed": { type: "number", min: 0.5 },
                "attributes.size": { type: "enum", options: ["s", "m"] },
                "attributes.words": { type: "string" },
              },
            }
          : template,
      ),
    };
    const wrong = lab([
      node("a", { cpu: 0.5 }),
      node("b", { attributes: { forwarding: "perhaps" } }),
      node("c", { attributes: { speed: 0 } }),
      node("d", { attributes: { size: "xl" } }),
      node("e", { attributes: { sized: "s" } }),
      node("f", { attributes: { speed: "fast" } }),
      node("g", { cpu: 4, ram: 7, attributes: { forwarding: "true", speed: "2.5", size: "m", words: 1 } }),
    ]);
    expect(plan(wrong, null, { rules: bounded }).blocked.map(({ key, reason }) => `${key}: ${reason.code}: ${reason.text}`)).toEqual([
      "a: bad_value: cpu is 0.5, not a whole number from 1 to 4",
      'b: bad_value: forwarding is "perhaps", not true or false',
      "c: bad_value: speed is 0, not a number of at least 0.5",
      'd: bad_value: size is "xl", not one of s, m',
      "e: unknown_attribute: template linux has no attribute sized; did you mean size? It has forwarding, size, speed, words",
      'f: bad_value: speed is "fast", not a number of at least 0.5',
    ]);
    const several = lab([node("a", { cpu: 9, image: "nope", attributes: { sized: "s", size: "xl" } })]);
    expect(plan(several, null, { rules: bounded }).blocked.map(({ key, reason }) => [key, reason.code, reason.field])).toEqual([
      ["a", "bad_value", "cpu"],
      ["a", "unknown_attribute", "attributes.sized"],
      ["a", "bad_value", "attributes.size"],
      ["a", "unknown_image", "image"],
    ]);
    // A change of an existing node is checked in the same way.
    const existing = host(lab(wrong.nodes.map(({ key }) => node(key))));
    const changed = plan(wrong, existing, { rules: bounded });
    expect(changed).toMatchObject({
      applicable: false,
      blocked: plan(wrong, null, { rules: bounded }).blocked.map(({ reason }) => ({ reason })),
    });
    expect(changed.blocked.map(({ reason }) => reason.field)).toEqual([
      "cpu",
      "attributes.forwarding",
      "attributes.speed",
      "attributes.size",
      "attributes.sized",
      "attributes.speed",
    ]);
    // A value that is on the host already and stays blocks nothing.
    const there = host(lab([node("a", { cpu: 0.5, attributes: { sized: "s" } })]), "stopped");
    const wanted = lab([node("a", { cpu: 0.5, attributes: { sized: "s", speed: 2 }, icon: "Server.png" })]);
    expect(plan(wanted, there, { rules: bounded }).blocked).toEqual([]);
  });

  it("blocks ports of a node that publishes them over the management network in a lab without one", () => {
    const machines = { ...rules, templates: [template("vm", { portsNeedManagement: true }), template("linux")] };
    const of = (ports: readonly string[], managed: boolean, template = "vm") =>
      lab([node("a", { template, ...(ports.length > 0 && { ports }) })], [], managed ? { management: {} } : {});
    const [blocked, ...more] = plan(of(["80:80"], false), null, { rules: machines }).blocked;
    expect([blocked?.reason.code, blocked?.reason.field, more.length]).toEqual(["bad_value", "ports", 0]);
    expect(blocked?.reason.text).toContain("write management: true in the lab");
    expect(plan(of(["80:80"], false), host(of([], false)), { rules: machines }).blocked).toHaveLength(1);
    const managed = { ...host(of(["80:80"], true)), management: {} };
    const [note] = plan(of(["80:80"], false), managed, { rules: machines }).actions.flatMap((action) => action.note ?? []);
    expect(note).toContain("the published ports of a are closed");
    for (const wanted of [of(["80:80"], true), of([], false), of(["80:80"], false, "linux")])
      expect(plan(wanted, null, { rules: machines }).blocked).toEqual([]);
  });

  it("blocks more interfaces than the template can have, and suggests the template that has the image", () => {
    const many = (ethernet: number) => lab([node("a", { ethernet })]);
    const { maxInterfaces } = rules.templates.find(({ id }) => id === "linux")!;
    for (const observed of [null, host(lab([node("a")]))]) {
      const blocked = plan(many(maxInterfaces + 1), observed).blocked;
      expect(blocked).toMatchObject([{ key: "a", reason: { code: "bad_value", field: "ethernet" } }]);
      expect(blocked[0]?.reason.text).toBe(`ethernet is ${maxInterfaces + 1}, not a whole number from 0 to ${maxInterfaces}`);
      expect(plan(many(maxInterfaces), observed).blocked).toEqual([]);
      const mistyped = plan(lab([node("a", { template: "swich" })]), observed).blocked;
      expect(mistyped[0]?.reason).toMatchObject({ code: "unknown_template", field: "template" });
      expect(mistyped[0]?.reason.text).toMatch(/^the host has no template swich; did you mean switch\? It also has (?!.*switch)/);
    }
  });

  it("lists the fields that the host cannot store and plans the rest without them", () => {
    const poor: HostRules = { ...rules, features: {}, unsupportedFields: ["labels", "texts", "network.icon", "mtu"] };
    const desired = lab(
      [node("a", { labels: { x: "y" } }), node("s", { template: "switch", image: "big", startupConfig: "x" })],
      [link("a:eth0", "s:eth0", { quality: { a: { delay: 1 } }, suspended: { a: true, b: false }, mtu: 9000 })],
      { networks: [{ key: "lan", name: "lan", type: "bridge", icon: "Cloud.png" }], texts: [{ text: "t", x: 0, y: 0 }] },
    );
    const planned = plan(desired, null, { rules: poor });
    expect(planned.applicable).toBe(false);
    expect(plan(desired, null, { rules: poor, allowUnsupported: true })).toEqual({ ...planned, applicable: true });
    expect(plan(desired, host(desired), { rules: poor, replace: true }).applicable).toBe(true);
    expect(planned.unsupported).toEqual([
      "a.labels: this host has no place for it",
      "a:eth0 -- s:eth0.mtu: this host has no place for it",
      "a:eth0 -- s:eth0.quality.a.delay: this host has no link quality",
      "a:eth0 -- s:eth0.suspended.a: this host cannot suspend links",
      "campus.texts: this host has no place for it",
      "lan.icon: this host has no place for it",
      "s.image: a switch has no image",
      "s.startup-config: template switch takes no startup-config",
    ]);
    expect(planned.summary.unsupported).toBe(8);
    const made = planned.operations.find(({ kind }) => kind === "link")?.step;
    expect(made).toMatchObject({ do: "create-link", link: { key: "a:eth0 -- s:eth0" } });
    expect(JSON.stringify(made)).not.toMatch(/quality|suspended|mtu/);
  });

  it("lists fields that a node's new template cannot store, even if the node had them before", () => {
    const had = { image: "big", startupConfig: "hostname a\n" };
    const planned = plan(lab([node("a", { ...had, template: "switch" })]), host(lab([node("a", had)])));
    expect(planned.blocked).toEqual([]);
    expect(planned.unsupported).toEqual(["a.image: a switch has no image", "a.startup-config: template switch takes no startup-config"]);
    const made = planned.operations.flatMap(({ step }) => (step.do === "create-node" ? step.node : []));
    expect(made).toHaveLength(1);
    expect(made[0]).not.toHaveProperty("startupConfig");
    expect(made[0]?.image).toBe("base");
  });

  it("lists the link quality that a host with plain quality cannot store, and applies the rest", () => {
    const plain: HostRules = { ...rules, plainQuality: true };
    const iol = template("iol", {
      ethFormat: "e{0}/{0-4}",
      ethernet: 4,
      serial: { prefix: "s", ports: 4, attribute: "serial" },
      attributes: { serial: 1 },
    });
    const desired = lab(
      [node("a"), node("b"), node("x", { template: "iol" }), node("y", { template: "iol" })],
      [
        link("a:eth0", "b:eth0", { quality: { a: { delay: 5, loss: 0.5 }, b: { jitter: 1.5 } } }),
        link("a:eth1", "lan", { quality: { a: { delay: 5 }, b: { delay: 6 } } }),
        link("b:eth1", "b:eth2", { quality: { a: { delay: 7 } } }),
        link("x:s1/0", "y:s1/0", { quality: { a: { delay: 8 } } }),
      ],
      { networks: [{ key: "lan", name: "lan", type: "bridge" }] },
    );
    const planned = plan(desired, null, { rules: { ...plain, templates: [...plain.templates, iol] } });
    expect(planned.blocked).toEqual([]);
    expect(planned.unsupported).toEqual([
      "a:eth0 -- b:eth0.quality.a.loss: this host keeps link quality in whole numbers",
      "a:eth0 -- b:eth0.quality.b.jitter: this host keeps link quality in whole numbers",
      "a:eth1 -- lan.quality.b.delay: this host has link quality at nodes only, not where a network is",
      "b:eth1 -- b:eth2.quality.a.delay: this host has no quality for a link from a node to itself",
      "x:s1/0 -- y:s1/0.quality.a.delay: this host has no quality for serial links",
    ]);
    const made = planned.operations.flatMap(({ step }) => (step.do === "create-link" ? [step.link.quality] : []));
    expect(made).toEqual([{ a: { delay: 5 } }, { a: { delay: 5 } }, undefined, undefined]);
  });

  it("is not applicable while the lab is locked", () => {
    const planned = plan({ ...triangle, description: "new" }, { ...host(triangle), locked: true, lock: 1 });
    expect(planned).toMatchObject({ applicable: false, blocked: [] });
    expect(planned.text).toContain("The lab is locked on the host");
  });
});

describe("on a host that reports its free memory", () => {
  const free = (freeMemory: number): HostRules => ({
    ...rules,
    templates: [
      template("linux", { need: 2, fields: { ram: "live" } }),
      template("vm", { need: 512, fields: { ram: "restart", image: "recreate" } }),
    ],
    freeMemory,
  });
  const two = (vm: number, linux?: number) =>
    lab([
      node("v", { template: "vm", ram: vm }),
      node("h", linux === undefined ? {} : { ram: linux }),
      node("other", { ram: 8000, start: false }),
    ]);
  const blocked = (desired: Lab, observed: ObservedLab | null, freeMemory: number, more: Partial<PlanInput> = {}) =>
    plan(desired, observed, { rules: free(freeMemory), ...more }).blocked.map(({ reason, affects }) => [reason.code, reason.text, affects]);
  const running = (desired: Lab) => {
    const observed = host(desired);
    return { ...observed, nodes: observed.nodes.map((one) => (one.name === "other" ? { ...one, power: "stopped" as const } : one)) };
  };

  it("nodes start if they fit into the free memory, and not with a MiB more", () => {
    expect(blocked(two(1000), null, 1002)).toEqual([]);
    const text = "the nodes that would start need 1002 MiB of memory, 1001 MiB are free";
    expect(blocked(two(1000), null, 1001)).toEqual([["no_memory", text, ["h", "v"]]]);
  });

  it("a node restarts with more memory only if the difference fits, and always with less or as much", () => {
    expect(blocked(two(1500), running(two(1000)), 500)).toEqual([]);
    const text = "the nodes that would start or get more memory need 500 MiB more, 499 MiB are free";
    expect(blocked(two(1500), running(two(1000)), 499)).toEqual([["no_memory", text, ["v"]]]);
    expect(blocked(two(900), running(two(1000)), 0)).toEqual([]);
    expect(blocked(lab([{ ...two(1000).nodes[0]!, image: "big" }]), running(two(1000)), 0)).toEqual([]);
  });

  it("a node that stays up gets no more than is free, and a stopped node any amount", () => {
    const text = "the nodes that would start or get more memory need 300 MiB more, 200 MiB are free";
    expect(blocked(two(1000, 400), running(two(1000, 100)), 200)).toEqual([["no_memory", text, ["h"]]]);
    expect(blocked(two(1000, 400), running(two(1000, 100)), 300)).toEqual([]);
    expect(blocked(two(9000, 9000), host(two(1000, 100), "stopped"), 0)).toEqual([]);
    expect(blocked(lab([node("h", { ram: 100 })]), running(two(1000, 100)), 0, { prune: true })).toEqual([]);
  });
});
