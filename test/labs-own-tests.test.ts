import { describe, expect, test } from "vitest";
import { labTester, sharedKernelLabs } from "./own-tests.fixture.ts";

/** The tests that example labs contain, run on the embedded host as a user runs them. */
describe.skipIf(process.getuid?.() !== 0)("the tests of example labs", () => {
  const passes = labTester();

  test("exist for routing, filtering, redundancy, multicast and impaired links", () => {
    expect(sharedKernelLabs).toEqual(
      expect.arrayContaining(["bgp-clos", "firewall-nat", "impaired-wan", "multicast", "office", "ospf-areas", "vrrp"]),
    );
  });

  // All at once: routing protocols mostly wait.
  test.concurrent.each(sharedKernelLabs)("%s passes", { timeout: 300_000 }, passes);
});
