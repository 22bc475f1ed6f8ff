import { expect } from "vitest";
import { hostConformance } from "../../conformance/conformance.ts";
import { eveDialect, eveFixture } from "../eve-host.fixture.ts";

const noMuteNodes = { "a console that cannot be is refused with the reason": "every template of EVE-NG has a console" };
const oneQuality = {
  "a link's quality changes live and declared, and both the stored and the live quality are reported":
    "Professional and PNETLab report one quality, so a quality that is not kept is refused",
};

/** Declares the suite of all hosts for an edition of EVE-NG. @param notices whether PHP prints notices into the answers, as with a default php.ini */
export function eveConformance(edition: "ce5" | "ce6" | "pro" | "pnetlab", notices: "visible" | "hidden"): void {
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
