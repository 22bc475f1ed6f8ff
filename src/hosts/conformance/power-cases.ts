import { expect } from "vitest";
import type { StopMode } from "../../engine/model/plan.ts";
import type { Cases } from "./bench.ts";
import { lab, link, node, smallLab, twoHosts } from "./labs.ts";
import { expectFailure, operation, watch } from "./tools.ts";

/** Power, status and consoles of nodes. */
export const powerCases: Cases = {
  "nodes stop in every mode, start again and are wiped": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const { features, stopModes } = await bench.session.capabilities();
    for (const mode of stopModes) {
      await bench.power(at, "h1", ["running"]);
      await bench.run(at, [operation({ do: "stop", node: "h1", mode })]);
      await bench.power(at, "h1", [mode === 2 ? "suspended" : "stopped"]);
      // A second call is not an error, and the neighbour is unchanged.
      await bench.run(at, [operation({ do: "stop", node: "h1", mode })]);
      await bench.power(at, "h2", ["running"]);
      await bench.run(at, [operation({ do: "start", node: "h1" })]);
      await bench.power(at, "h1", ["running"]);
    }
    await bench.run(at, [operation({ do: "start", node: "h1" })]);
    if (features.wipe) {
      await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 }), operation({ do: "wipe", node: "h1" })]);
      await bench.power(at, "h1", ["stopped"]);
    }
    for (const mode of ([0, 1, 2, 3] satisfies StopMode[]).filter((one) => !stopModes.includes(one))) {
      await expectFailure(bench.run(at, [operation({ do: "stop", node: "h2", mode })]), "unsupported");
    }
  },

  "declared power is kept to": async (bench) => {
    const at = bench.path();
    const off = lab({ nodes: [node("h1", "linux", { start: false }), node("h2", "linux")], links: [link("h1:eth0", "h2:eth0")] });
    await bench.make(at, off);
    await bench.power(at, "h1", ["stopped"]);
    await bench.power(at, "h2", ["running"]);
    await bench.make(at, { ...off, nodes: off.nodes.map((one) => ({ ...one, start: one.key === "h1" })) });
    await bench.power(at, "h1", ["running"]);
    await bench.power(at, "h2", ["stopped"]);
  },

  "status is correct for every node": async (bench) => {
    const at = bench.path();
    await bench.make(at, smallLab);
    for (const { key } of smallLab.nodes) await bench.power(at, key, ["running"]);
    const observed = await bench.observe(at);
    const { nodes, links } = await bench.session.status(at);
    expect(nodes.map(({ id, name }) => `${id} ${name}`).sort()).toEqual(observed.nodes.map(({ id, name }) => `${id} ${name}`).sort());
    expect(links).toEqual([]);
    for (const { uptime_ms } of nodes) if (uptime_ms !== undefined) expect(uptime_ms).toBeGreaterThanOrEqual(0);
    await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]);
    const stopped = await bench.power(at, "h1", ["stopped"]);
    expect(stopped.uptime_ms).toBeUndefined();
    expect((await bench.node(at, "h1")).power).toBe("stopped");
    expect((await bench.node(at, "r1")).power).toBe("running");
  },

  "a console answers, and a late viewer sees what was before": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    await bench.power(at, "h1", ["running"]);
    const { id } = await bench.node(at, "h1");
    const first = watch(await bench.session.console(at, id));
    first.send("echo conformance-17\r");
    await first.shows(/^conformance-17\r?$/m);
    const late = watch(await bench.session.console(at, id));
    if (bench.scrollback) await late.shows(/^conformance-17\r?$/m);
    late.send("echo conformance-18\r");
    await Promise.all([first.shows(/^conformance-18\r?$/m), late.shows(/^conformance-18\r?$/m)]);
    late.close();
    first.send("echo conformance-19\r");
    await first.shows(/^conformance-19\r?$/m);
    await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]);
    await first.ends();
  },

  "a console that cannot be is refused with the reason": async (bench) => {
    const at = bench.path();
    await bench.make(at, lab({ nodes: [node("h1", "linux", { start: false }), node("sw", "switch")] }));
    const [stopped, mute] = [await bench.node(at, "h1"), await bench.node(at, "sw")];
    await expectFailure(bench.session.console(at, stopped.id), "node_not_running");
    await expectFailure(bench.session.console(at, "no-such-id"), "node_not_found");
    expect(mute.consoleType).toBe("none");
    await expectFailure(bench.session.console(at, mute.id), "unsupported");
  },
};
