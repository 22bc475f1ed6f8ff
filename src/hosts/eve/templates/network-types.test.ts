import { expect, it } from "vitest";
import { eveBench, lab } from "../eve-bench.fixture.ts";

it.each([
  ["ce5", /EVE-NG has no network with address translation\. Its way out is the type pnet0 \(Cloud 0\)/],
  ["pro", /its network with address translation has the type nat0$/],
] as const)("on %s, the refusal of a nat network names the type to use instead", async (edition, text) => {
  await using bench = await eveBench({ edition });
  const desired = lab({ name: "out", networks: [{ key: "inet", name: "inet", type: "nat" }] });
  const { blocked } = await bench.plan("/out", desired);
  expect(blocked.map(({ reason }) => [reason.code, reason.text])).toEqual([["unknown_network_type", expect.stringMatching(text)]]);
  const other = await bench.plan("/out", lab({ name: "out", networks: [{ key: "inet", name: "inet", type: "pnet00" }] }));
  expect(other.blocked[0]?.reason.text).toMatch(/did you mean pnet0\?/);
});
