import { describe } from "vitest";
import { hostConformance } from "../../../conformance/conformance.ts";
import { testLocalHost } from "../../testing/test-local-host.fixture.ts";

/** Runs the suite with virtual machines instead of linux nodes. No case waits for guests: most are stopped while they boot. */
const dialect = { linux: { template: "vm" }, pc: { template: "pc" }, frr: { template: "frr" }, switch: { template: "switch" } } as const;

const others = [
  "login takes the right password and refuses others",
  "a lab that does not exist is reported as such",
  "texts, filters, description and name of the lab change",
  "a locked lab is not changed",
  "a lock that appears stops a change between steps",
  "a change stops between steps when it is aborted",
  "a step that the host refuses is a host error, and what was done before stays",
  "two sessions see the same lab",
];

describe.skipIf(process.getuid?.() !== 0)("on this kernel", () => {
  hostConformance(
    "the embedded host, with virtual machines,",
    async () => {
      // A booting guest does not react to the power button yet.
      const local = await testLocalHost({ stopGrace: { graceful: 100, machine: 100 } });
      return { host: local.host, user: "admin", password: "test", close: async () => local[Symbol.asyncDispose]() };
    },
    {
      dialect,
      skip: {
        ...Object.fromEntries(others.map((title) => [title, "the same whatever its nodes are"])),
        "a console answers, and a late viewer sees what was before": "a guest answers when it has booted: vm.test.ts",
      },
    },
  );
});
