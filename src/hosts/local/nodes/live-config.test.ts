import { expect, test } from "vitest";
import { applyLive } from "./live-config.ts";

const before = "interface eth1\n ip address 10.0.0.1/31\n";
const after = `${before}router isis 1
 is-type level-2-only
 metric-style wide
 lsp-gen-interval 1
`;
const shown = `${before}router isis 1
 is-type level-2-only
 lsp-timers gen-interval 1 refresh-interval 900 max-lifetime 1200
`;

/** Applies the change to a router that shows this text afterwards. */
function applied(last: string): Promise<string | undefined> {
  let isChanged = false;
  const exec = async (_node: number, argv: readonly string[]) => {
    if (argv[2]?.includes("vtysh -f")) isChanged = true;
    const stdout = argv[0] === "vtysh" ? (isChanged ? last : before) : "";
    return { code: 0, signal: null, stdout, stderr: "", timedOut: false, truncated: false };
  };
  return applyLive({ exec } as never, 1, { before, after, taken: before, path: "/etc/frr/frr.conf", startsDaemons: true });
}

test("lines that FRR shows in another form, or not because they are defaults, are taken", async () => {
  expect(await applied(shown)).toBeUndefined();
});

test("lines that FRR does not have are named by their numbers", async () => {
  expect(await applied(shown.replace("interval 1 ", "interval 30 "))).toContain("FRR did not take line 6 of the startup-config");
  expect(await applied(`${shown} metric-style narrow\n`)).toContain("FRR did not take line 5 of the startup-config");
  expect(await applied(before)).toContain("FRR did not take line 3, 4, 6 of the startup-config");
});
