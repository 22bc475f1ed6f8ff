import { setTimeout as delay } from "node:timers/promises";
import { Files } from "./files.ts";
import { Lab, type LabHost } from "./lab.ts";
import type { FakeEveOptions, Settings } from "./options.ts";
import { settingsOf } from "./options.ts";
import { naturally } from "./php.ts";
import { type Quality, qualityKey } from "./quality.ts";
import { Runtime } from "./runtime.ts";
import { hasIcon, imagesOf, templates } from "./templates.ts";
import { Users } from "./users.ts";

/** PNETLab: a lab that a user has opened. */
export interface LabSession {
  readonly path: string;
  readonly labId: string;
  readonly owner: string;
  readonly pod: number;
  /** Node → the number of its own session, from which its port is counted. */
  readonly nodes: Map<number, number>;
}

/** All that a host is, behind its API. */
export class Host {
  /** Tests change it while it runs: an upgrade of PHP, a Guacamole that goes. */
  readonly settings: { -readonly [Name in keyof Settings]: Settings[Name] };
  readonly files: Files;
  readonly users: Users;
  readonly runtime: Runtime;
  /** /Exports/… → archive. */
  readonly exports = new Map<string, { readonly data: Buffer; readonly made: Date }>();
  /** So many of the next exports fail as where their ids cannot be taken out. */
  failingExports = 0;
  /** PNETLab: open sessions by number, one for each lab and user. */
  readonly labSessions = new Map<number, LabSession>();
  /** PNETLab: unplugged interfaces, by node and interface of a lab. */
  readonly suspended = new Set<string>();
  /** Professional and PNETLab: quality that runs, by node and interface of a lab; gone with the host's memory. */
  readonly quality = new Map<string, Quality>();
  readonly #labHost: LabHost;

  constructor(options: FakeEveOptions, address: () => string) {
    this.settings = { ...settingsOf(options) };
    const { settings } = this;
    this.files = new Files(() => settings.clock());
    const admin = { username: "admin", password: "eve", name: "Eve-NG Administrator", email: "root@localhost" };
    this.users = new Users(settings, options.users ?? [admin], options.guacamole ?? false);
    this.runtime = new Runtime(settings, address);
    this.#labHost = {
      get php() {
        return settings.php;
      },
      get notices() {
        return settings.notices;
      },
      files: this.files,
      template: (id) => templates.get(id),
      imagesOf: (type, template) => imagesOf(settings.images, type, template),
      hasIcon,
      networkTypes: networkTypes(settings),
      random: (low, high) => settings.random(low, high),
      uuid: () => settings.uuid(),
      pnetlab: settings.edition === "pnetlab",
      keepsExtras: settings.edition === "pro" || settings.edition === "pnetlab",
      hasNetworkIcons: settings.edition !== "ce5",
      beforeWrite: () => this.sleep(settings.latency.save),
    };
  }

  get networkTypes(): ReadonlyMap<string, string> {
    return this.#labHost.networkTypes;
  }

  /** Throws `LabRefused` for a file that EVE-NG refuses. */
  openLab(path: string, tenant: number): Promise<Lab> {
    return Lab.open(path, tenant, this.#labHost);
  }

  /** At least until other calls had their turn: only so can two of them meet. */
  async sleep(ms: number): Promise<void> {
    await (ms > 0 ? delay(ms) : new Promise<void>((resolve) => setImmediate(resolve)));
  }

  /** Waits as long as EVE-NG does. The caller must unlock; a caller that dies before leaves the lock behind. */
  async lock(path: string): Promise<boolean> {
    const { lockTimeoutMs } = this.settings;
    for (let left = lockTimeoutMs; left > 0; ) {
      if (!this.files.locks.has(path)) {
        this.files.locks.add(path);
        return true;
      }
      const wait = Math.max(1, Math.random() * (lockTimeoutMs / 50));
      left -= wait;
      await this.sleep(wait);
    }
    return false;
  }

  unlock(path: string): void {
    this.files.locks.delete(path);
  }

  qualityOf(lab: Lab, node: number, index: number): Quality | undefined {
    return this.quality.get(qualityKey(lab, node, index));
  }
}

function networkTypes({ edition, clouds }: Settings): ReadonlyMap<string, string> {
  const pnets = Array.from({ length: clouds }, (_, index) => `pnet${index}`).sort(naturally);
  // Those of Professional are from people's notes.
  const more = edition === "pro" ? ["nat0", "internal", "internal2", "internal3", "private", "private2", "private3"] : [];
  return new Map(["bridge", "ovs", ...pnets, ...more].map((type) => [type, type]));
}
