import { expect } from "vitest";
import { hostConformance } from "../conformance/conformance.ts";
import { eveDialect, eveFixture } from "./eve-host.fixture.ts";

const noMuteNodes = { "a console that cannot be is refused with the reason": "every template of EVE-NG has a console" };
const oneQuality = {
  "a link's quality changes live and declared, and both the stored and the live quality are reported":
    "Professional and PNETLab report one quality, so a quality that is not kept is refused",
};

/** Community 5 with PHP's notices, as with a default php.ini, and without. */
const hosts = [
  { edition: "ce5", notices: "visible" },
  { edition: "ce5", notices: "hidden" },
  { edition: "ce6", notices: "visible" },
  { edition: "pro", notices: "visible" },
  { edition: "pnetlab", notices: "hidden" },
] as const;

for (const { edition, notices } of hosts) {
  hostConformance(
    `EVE-NG ${edition}, notices ${notices}`,
    async () => {
      const fixture = await eveFixture({ edition, notices });
      const close = async () => {
        await fixture[Symbol.asyncDispose]();
        expect(fixture.fake.defects).toEqual([]);
        expect(fixture.fake.locks()).toEqual([]);
        expect(fixture.fake.calls.filter((call) => call.startsWith("DELETE /api/status"))).toEqual([]);
      };
      return { host: fixture.host, user: "admin", password: "eve", close };
    },
    { dialect: eveDialect, scrollback: false, skip: { ...noMuteNodes, ...(edition === "pro" || edition === "pnetlab" ? oneQuality : {}) } },
  );
}
