import type { FakeEveOptions } from "../../../test/fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../../../test/fakes/eve/server.ts";
import type { ConformanceDialect } from "../conformance/dialect.ts";
import type { Host } from "../host.ts";
import { type EveHostOptions, eveHost } from "./host.ts";

export interface EveFixture extends AsyncDisposable {
  readonly fake: FakeEve;
  readonly host: Host;
}

/** A fake EVE-NG host with images for some templates, and the driver for it. */
export async function eveFixture(options: FakeEveOptions = {}, more: Partial<EveHostOptions> = {}): Promise<EveFixture> {
  const fake = await startFakeEve({ latency: "none", lockTimeoutMs: 200, images, ...options });
  const host = eveHost({
    url: fake.url,
    plainHttp: true,
    warn: () => {},
    timing: { pollMs: 10, patienceMs: 5_000, settleMs: 300, othersMs: 0 },
    ...more,
  });
  return {
    fake,
    host,
    [Symbol.asyncDispose]: async () => {
      await host.close();
      await fake.close();
    },
  };
}

const images = { linux: ["linux-small-1.0", "linux-tiny-1.0"], vios: ["vios-15.6"], viosl2: ["viosl2-15.2"], iol: ["i86bi.bin"] };

/** The suite's templates in EVE-NG's: nodes of linux have a text console. */
export const eveDialect: ConformanceDialect = {
  linux: { template: "linux", attributes: { console: "telnet" } },
  pc: { template: "vpcs" },
  frr: { template: "vios" },
  switch: { template: "viosl2" },
};
