import { describe } from "vitest";
import { hostConformance } from "../conformance/conformance.ts";
import { testLocalHost } from "./testing/test-local-host.fixture.ts";

describe.skipIf(process.getuid?.() !== 0)("on this kernel", () => {
  hostConformance("the embedded host", async () => {
    const local = await testLocalHost();
    return { host: local.host, user: "admin", password: "test", close: async () => local[Symbol.asyncDispose]() };
  });
});
