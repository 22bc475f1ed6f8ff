import { expect } from "vitest";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { featureNames } from "../host.ts";
import type { Cases } from "./bench.ts";
import { smallLab, twoHosts } from "./labs.ts";
import { expectFailure, operation, persisted, progressOf } from "./tools.ts";

/** Sign-in, catalogue and capabilities, and the separation of labs and sessions. */
export const catalogueCases: Cases = {
  "login takes the right password and refuses others": async ({ session }, { host, user, password }) => {
    expect(session.user).toBe(user);
    expect(["admin", "user"]).toContain(session.role);
    await expectFailure(host.login(user, `${password}x`), "invalid_credentials");
    await expectFailure(host.login(`${user}-nobody`, password), "invalid_credentials");
    if (host.resume !== undefined) {
      expect(await host.resume(`${user}-nobody`)).toBeNull();
      const resumed = await host.resume(user);
      expect(resumed?.user).toBe(user);
      await resumed?.close();
    }
  },

  "the catalogue is complete, sorted and agrees with the rules": async ({ session }) => {
    const [templates, types, icons, rules] = await Promise.all([
      session.templates(),
      session.networkTypes(),
      session.icons(),
      session.rules(),
    ]);
    const ids = templates.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids).toEqual(expect.arrayContaining(["frr", "linux", "pc", "switch"]));
    expect(types.map(({ type }) => type)).toEqual(expect.arrayContaining(["bridge"]));
    expect(rules.networkTypes).toEqual(expect.arrayContaining(types.map(({ type }) => type)));
    expect(rules.templates.map(({ id }) => id).sort()).toEqual(ids);
    const iconNames = icons.map((icon) => icon.name);
    for (const template of templates) {
      expect(template.images.filter((image) => image.default).length).toBeLessThanOrEqual(1);
      if (template.icon !== undefined) expect(iconNames).toContain(template.icon);
      const rule = rules.templates.find(({ id }) => id === template.id);
      expect(rule).toMatchObject({ type: template.type, ethFormat: template.ethFormat, startupConfig: template.configSupported });
      // A host that fetches images may have a default that it has not fetched yet.
      if (rule?.image !== undefined && rule.pulls === undefined) expect(template.images.map((image) => image.name)).toContain(rule.image);
      for (const { name, default: byDefault } of template.attributes)
        if (byDefault !== undefined) expect(rule?.attributes[name]).toBe(byDefault);
    }
  },

  "capabilities name every feature and agree with the rules": async ({ session }) => {
    const { features, reachable, stopModes } = await session.capabilities();
    expect(reachable).toBe(true);
    expect(Object.keys(features).sort()).toEqual([...featureNames].sort());
    expect(stopModes.includes(2)).toBe(features.hibernate);
    expect(stopModes.length).toBeGreaterThan(0);
    const rules = await session.rules();
    for (const word of ["linkQuality", "linkSuspend", "wipe"] as const) expect(rules.features[word] ?? false).toBe(features[word]);
  },

  "a lab that does not exist is reported as such": async ({ session, path }) => {
    const nowhere = path();
    expect(await session.observe(nowhere)).toBeNull();
    expect(await session.labs()).not.toContain(nowhere);
    await expectFailure(session.status(nowhere), "lab_not_found");
    await expectFailure(session.setLock(nowhere, true), "lab_not_found");
    await expectFailure(session.console(nowhere, "1"), "lab_not_found");
    await expectFailure(session.apply(nowhere, [operation({ do: "start", node: "h1" })], progressOf()), "lab_not_found");
    expect(await session.observe(nowhere)).toBeNull();
  },

  "two sessions see the same lab": async (bench, { host, user, password }) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const other = await host.login(user, password);
    expect(persisted((await other.observe(at)) as ObservedLab)).toEqual(persisted(await bench.observe(at)));
    await other.close();
    await bench.power(at, "h1", ["running"]);
  },

  "two labs with the same content do not meet": async (bench) => {
    const [one, two] = [bench.path(), bench.path()];
    await Promise.all([bench.make(one, smallLab), bench.make(two, smallLab)]);
    expect((await bench.observe(one)).id).not.toBe((await bench.observe(two)).id);
    await bench.run(one, [operation({ do: "stop", node: "h1", mode: 1 })]);
    await bench.power(one, "h1", ["stopped"]);
    await bench.power(two, "h1", ["running"]);
    await bench.run(one, (await bench.plan(one, null)).operations);
    expect(await bench.session.observe(one)).toBeNull();
    await bench.expectNothingToDo(two, smallLab);
    await bench.power(two, "h1", ["running"]);
  },
};
