import { KeyedQueue } from "../../base/keyed-queue.ts";
import { Failure } from "../../contract/errors.ts";
import type { Host } from "../host.ts";
import { EveAccount, readUser } from "./account/account.ts";
import { probeEdition } from "./account/edition.ts";
import { HostTransport } from "./api/host-transport.ts";
import { OwnersByAccount } from "./labs/number-owners.ts";
import { OtherLabs } from "./labs/other-labs.ts";
import { OtherUsers } from "./labs/other-users.ts";
import { defaultTiming, type EveTiming, type EveWorld } from "./labs/world.ts";
import { LabReader } from "./read/lab-reader.ts";
import { eveSession } from "./session.ts";
import { CatalogueReader } from "./templates/catalogue.ts";
import { InterfaceLists } from "./templates/interface-list.ts";

export interface EveHostOptions {
  /** https://eve.lab; http:// only with plainHttp. */
  readonly url: string;
  /** SHA-256 of the host's certificate, needed if it is self-signed. */
  readonly pin?: string;
  /** Allows http:, so that passwords cross the network unencrypted. */
  readonly plainHttp?: boolean;
  /** Receives warnings for the administrator. Default: process.emitWarning. */
  readonly warn?: (text: string) => void;
  readonly timing?: Partial<EveTiming>;
}

interface OpenAccount {
  readonly account: EveAccount;
  sessions: number;
}

/**
 * Opens a driver for EVE-NG Community Edition 5 and 6, Professional as far as it is documented, and PNETLab according to its source.
 * docs/hosts/eve.md lists the features of each.
 */
export function eveHost(options: EveHostOptions): Host {
  const warn = options.warn ?? ((text: string) => process.emitWarning(text, "LabwrightWarning"));
  const transport = new HostTransport({ url: options.url, pin: options.pin, plainHttp: options.plainHttp });
  const { url } = transport;
  if (url.protocol === "http:") warn(`${url.origin} is spoken to in the clear: passwords of its users can be read on the way`);
  const accounts = new Map<string, Promise<OpenAccount>>();
  const signedIn = new Map<string, EveAccount>();
  let world: Promise<EveWorld> | undefined;

  /** All sessions of a user share one session with the host, which allows only one per user. */
  async function openAccount(user: string, password: string, signal?: AbortSignal): Promise<OpenAccount> {
    const known = await accounts.get(user)?.catch(() => undefined);
    if (known !== undefined) {
      known.sessions++;
      await known.account.open(password, signal).catch((error: unknown) => {
        known.sessions--;
        throw error;
      });
      return known;
    }
    const opening = EveAccount.open(transport, user, password, signal).then((account): OpenAccount => {
      signedIn.set(user, account);
      return { account, sessions: 1 };
    });
    accounts.set(user, opening);
    opening.catch(() => {
      if (accounts.get(user) === opening) accounts.delete(user);
    });
    return opening;
  }

  async function release(user: string, open: OpenAccount): Promise<void> {
    open.sessions--;
    if (open.sessions > 0) return;
    accounts.delete(user);
    signedIn.delete(user);
    await open.account.logout();
  }

  function openWorld(account: EveAccount): Promise<EveWorld> {
    world ??= probeEdition(account).then((edition) => ({
      address: url.hostname.replace(/^\[|\]$/g, ""),
      edition,
      catalogue: new CatalogueReader(edition),
      reader: new LabReader(edition, new KeyedQueue()),
      interfaces: new InterfaceLists(),
      others: new OtherLabs(),
      changes: new KeyedQueue(),
      writes: new KeyedQueue(),
      owners: new OwnersByAccount(),
      accounts: signedIn,
      users: new OtherUsers(),
      timing: { ...defaultTiming, ...options.timing },
    }));
    const opening = world;
    opening.catch(() => {
      if (world === opening) world = undefined;
    });
    return opening;
  }

  return {
    kind: "eve",
    url: url.href.replace(/\/$/, ""),
    login: async (name, password, signal) => {
      if (name === "" || password === "") throw new Failure("invalid_credentials", "wrong user name or password");
      const open = await openAccount(name, password, signal);
      try {
        const user = await readUser(open.account);
        const shared = await openWorld(open.account);
        return eveSession(shared, open.account, user, () => release(name, open));
      } catch (error) {
        await release(name, open).catch(() => undefined);
        throw error;
      }
    },
    close: async () => {
      const open = await Promise.allSettled(accounts.values());
      accounts.clear();
      await Promise.allSettled(open.map((one) => (one.status === "fulfilled" ? one.value.account.logout() : undefined)));
      transport.close();
    },
  };
}
