import { describe, expect, test } from "vitest";
import { labTester, ownKernelLabs } from "./own-tests.fixture.ts";

/** Without hardware virtualisation, labs whose nodes have kernels of their own take much processor time. */
describe.skipIf(process.getuid?.() !== 0)("the tests of example labs whose nodes have kernels of their own", () => {
  const passes = labTester();

  test("exist for VRFs, MPLS and WireGuard", () => {
    expect(ownKernelLabs).toEqual(expect.arrayContaining(["vrf-lite", "wireguard"]));
  });

  // Emulated processors do not wait, and starve beside others.
  test.each(ownKernelLabs)("%s passes", { timeout: 600_000 }, passes);
});
