import { expect, test } from "vitest";
import { applyLive } from "./live-config.ts";

const before = "interface eth1\n ip address 10.0.0.1/31\n";
const after = "interface eth1\n ip address 10.0.0.1/31\n ip router isis 1\nrouter isis 1\n net 49.0001.0100.0000.0001.00\n";

/** A router that shows the new lines only after some pauses. */
function router({ starts, showsAfter }: { readonly starts: boolean; readonly showsAfter: number }) {
  let pauses = 0;
  let started = false;
  let changed = false;
  const answer = (argv: readonly string[]) => {
    if (argv[0]?.endsWith("/frr-start")) started = starts;
    if (argv[1] === "/run/frr/daemons") return `zebra staticd${started ? " isisd" : ""}\n`;
    if (argv[2]?.includes("vtysh -f")) changed = true;
    return argv[0] === "vtysh" ? (changed && pauses >= showsAfter ? after : before) : "";
  };
  const exec = async (_node: number, argv: readonly string[]) => ({ ...ended, stdout: answer(argv) });
  const pause = async () => void pauses++;
  return { sandbox: { exec }, pause, pauses: () => pauses };
}

const ended = { code: 0, signal: null, stderr: "", timedOut: false, truncated: false };
const config = { before, after, taken: before, path: "/etc/frr/frr.conf", startsDaemons: true };

test("lines that a started daemon shows later are waited for", async () => {
  const { sandbox, pause, pauses } = router({ starts: true, showsAfter: 3 });
  expect(await applyLive(sandbox as never, 1, config, pause)).toBeUndefined();
  expect(pauses()).toBe(3);
});

test("lines that a started daemon never shows are named after a bounded wait", async () => {
  const { sandbox, pause, pauses } = router({ starts: true, showsAfter: Number.POSITIVE_INFINITY });
  expect(await applyLive(sandbox as never, 1, config, pause)).toContain("FRR did not take line 3, 4, 5 of the startup-config");
  expect(pauses()).toBe(40);
});

test("without a started daemon, lines that FRR refuses are named at once", async () => {
  const { sandbox, pause, pauses } = router({ starts: false, showsAfter: Number.POSITIVE_INFINITY });
  expect(await applyLive(sandbox as never, 1, config, pause)).toContain("FRR did not take line 3, 4, 5 of the startup-config");
  expect(pauses()).toBe(0);
});
