import { Failure } from "../../contract/errors.ts";
import { type Feature, featureNames, type Host, type HostSession } from "../host.ts";

/** The accounts of a service without a host: those that its machines share. */
export interface NoneHostAccounts extends Required<Pick<Host, "accounts" | "userChanges" | "externalUsers">> {
  /** Returns null for a wrong name or password. */
  check(name: string, password: string): Promise<NoneHostUser | null>;
  find(name: string): Promise<NoneHostUser | null>;
  list(): Promise<readonly NoneHostUser[]>;
}

interface NoneHostUser {
  readonly name: string;
  readonly role: HostSession["role"];
}

/** The name of this kind of host, for `labwright serve --host`. */
export const noneKind = "none";

/**
 * The host of a machine that runs no labs: it has users and nothing else. For everything that only a host with labs knows, it throws the failure of `isNoLabs`,
 * and the service then asks another machine of its fleet. It needs no root, and nothing of the kernel.
 */
export function noneHost({ check, find, list, ...shared }: NoneHostAccounts): Host {
  return {
    kind: noneKind,
    url: `${noneKind}:`,
    ...shared,
    login: async (name, password) => {
      const user = await check(name, password);
      if (user === null) throw new Failure("invalid_credentials", "wrong user name or password");
      return session(user, list);
    },
    resume: async (name, limit) => {
      const user = await find(name);
      return user === null ? null : session(limit !== undefined && user.role === "admin" ? { ...user, role: limit } : user, list);
    },
    holds: async () => false,
    labId: async () => undefined,
    close: async () => {},
  };
}

/** Whether a call needs a host with labs, and this machine runs none. */
export function isNoLabs(error: unknown): error is Failure {
  return error instanceof NoLabs;
}

class NoLabs extends Failure {
  constructor() {
    super("host_unreachable", "this machine runs no labs (--host none)");
  }
}

const ownFeatures = Object.fromEntries(featureNames.map((name) => [name, name === "hostUsers" || name === "userChanges"])) as Record<
  Feature,
  boolean
>;

function session({ name, role }: NoneHostUser, list: NoneHostAccounts["list"]): HostSession {
  const elsewhere = async (): Promise<never> => {
    throw new NoLabs();
  };
  const noLab = async (lab: string): Promise<never> => {
    throw new Failure("lab_not_found", `no lab ${lab}`);
  };
  return {
    user: name,
    role,
    capabilities: async () => ({ reachable: true, features: ownFeatures, stopModes: [] }),
    templates: elsewhere,
    networkTypes: elsewhere,
    icons: elsewhere,
    rules: elsewhere,
    observe: async () => null,
    labs: async () => [],
    apply: elsewhere,
    status: noLab,
    setLinkQuality: noLab,
    setLinkSuspend: noLab,
    setLock: noLab,
    console: noLab,
    users: async () => {
      if (role !== "admin") throw new Failure("operation_not_allowed", "only an admin can list the host's users");
      return (await list()).map((user) => ({ user: user.name, role: user.role }));
    },
    close: async () => {},
  };
}
