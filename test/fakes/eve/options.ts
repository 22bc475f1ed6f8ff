import type { FreshPods } from "./unix-users.ts";

/**
 * ce5 and ce6: Community 5.0.1 under PHP 7 and 6.2.0 under PHP 8; pro: Professional 6.5; pnetlab: PNETLab of 2023, which has
 * another API. The fake implements it only as far as PNETLab's published source shows it.
 */
export type Edition = "ce5" | "ce6" | "pro" | "pnetlab";

/** Milliseconds that a host takes for things. */
export interface Latency {
  /** Any call. */
  readonly call: number;
  /** Writing the lab's file, once for each save: EVE-NG sleeps while it does. */
  readonly save: number;
  /** Asking whether one node runs. */
  readonly nodeStatus: number;
  /** GET /status measures the processor's load. */
  readonly hostStatus: number;
  readonly start: number;
  /** Copying a qemu node's disks at its first start; its status is 1 meanwhile. */
  readonly prepare: number;
  /** From the answer to a start to the console that listens: only then is the status 2. */
  readonly boot: number;
  /** The script that types a startup config into a qemu node; the status is 3 meanwhile. */
  readonly configure: number;
  readonly stop: number;
  /** From the answer to a stop to the console that is gone. */
  readonly exit: number;
  readonly wipe: number;
  readonly exportConfig: number;
  /** From the console of a VPCS that listens to its startup file. */
  readonly vpcsBoot: number;
  /** The command `ip` of a VPCS. */
  readonly vpcsAddress: number;
}

/** Measured on a machine with two cores, except prepare, boot, configure and exit, which are guesses. */
export const recordedLatency: Latency = {
  call: 12,
  save: 100,
  nodeStatus: 25,
  hostStatus: 1200,
  start: 140,
  prepare: 200,
  boot: 50,
  configure: 500,
  stop: 90,
  exit: 20,
  wipe: 60,
  exportConfig: 100,
  vpcsBoot: 300,
  vpcsAddress: 3000,
};

export const noLatency = Object.fromEntries(Object.keys(recordedLatency).map((name) => [name, 0])) as unknown as Latency;

export interface FakeEveOptions {
  readonly edition?: Edition;
  readonly php?: 7 | 8;
  /**
   * visible: a report of PHP is an error page, and often a lock that stays. A stock php.ini shows notices; hosts of Community 5 that hide them
   * were seen, too. Absent: hidden for PHP 7, visible for PHP 8, whose warnings cannot be hidden there.
   */
  readonly notices?: "visible" | "hidden";
  /** Whether the first start ever of a user makes its unix user, in which starts at the same time fail. */
  readonly freshPods?: FreshPods;
  readonly version?: string;
  readonly latency?: "recorded" | "none" | Partial<Latency>;
  /** How long a write waits for the lab's lock; 25 s on a host. */
  readonly lockTimeoutMs?: number;
  /** Of a session that nobody uses; an hour on a host. */
  readonly sessionMs?: number;
  /** How a call without a session is refused; on Professional people have seen both. */
  readonly sessionLostAs?: 90001 | 60027;
  readonly users?: readonly FakeUser[];
  /** Template → its images, the newest last. */
  readonly images?: Readonly<Record<string, readonly string[]>>;
  /** Those that are listed; all of a host by default, which takes a client a while to read. */
  readonly templates?: readonly string[];
  /** Whether Guacamole runs, which HTML5 consoles need. */
  readonly guacamole?: boolean;
  /** Clouds pnet0 … */
  readonly clouds?: number;
  /** Whether links of running nodes change at once. For Professional there are reports of both. Never on Community. */
  readonly hotPlug?: boolean;
  /** PNETLab: whether its login asks for the letters of a picture. */
  readonly captcha?: boolean;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Loopback address of the server and of the consoles; each fake has one of its own by default, so that their ports never meet. */
  readonly address?: string;
  readonly clock?: () => Date;
  readonly random?: (low: number, high: number) => number;
  readonly uuid?: () => string;
  /** The answer of a node's console to a line. Absent: that of a small shell. */
  readonly console?: (line: string, node: { readonly name: string; readonly template: string }) => string | undefined;
}

export interface FakeUser {
  readonly username: string;
  readonly password: string;
  readonly name?: string;
  readonly email?: string;
}

export interface Settings {
  readonly edition: Edition;
  readonly php: 7 | 8;
  readonly notices: "visible" | "hidden";
  readonly freshPods: FreshPods;
  readonly version: string;
  readonly latency: Latency;
  readonly lockTimeoutMs: number;
  readonly sessionMs: number;
  readonly sessionLostAs: 90001 | 60027;
  readonly images: Readonly<Record<string, readonly string[]>>;
  readonly templates: readonly string[] | undefined;
  readonly clouds: number;
  readonly hotPlug: boolean;
  readonly captcha: boolean;
  readonly clock: () => Date;
  readonly random: (low: number, high: number) => number;
  readonly uuid: () => string;
  readonly console: FakeEveOptions["console"];
}

const versions: Readonly<Record<Edition, string>> = { ce5: "5.0.1-10", ce6: "6.2.0-4", pro: "6.5.0-27-PRO", pnetlab: "4.2.10" };

export function settingsOf(options: FakeEveOptions): Settings {
  const edition = options.edition ?? "ce5";
  const latency = options.latency ?? "recorded";
  const php = options.php ?? (edition === "ce5" || edition === "pnetlab" ? 7 : 8);
  return {
    edition,
    php,
    notices: options.notices ?? noticesOf(php),
    freshPods: options.freshPods ?? false,
    version: options.version ?? versions[edition],
    latency: latency === "none" ? noLatency : { ...recordedLatency, ...(latency === "recorded" ? {} : latency) },
    lockTimeoutMs: options.lockTimeoutMs ?? 25_000,
    sessionMs: options.sessionMs ?? 3_600_000,
    sessionLostAs: options.sessionLostAs ?? 90001,
    images: options.images ?? { linux: ["linux-tiny-1.0"] },
    templates: options.templates,
    clouds: options.clouds ?? 10,
    hotPlug: edition === "pnetlab" || (edition === "pro" && (options.hotPlug ?? true)),
    captcha: options.captcha ?? false,
    clock: options.clock ?? (() => new Date()),
    random: options.random ?? ((low, high) => low + Math.floor(Math.random() * (high - low + 1))),
    uuid: options.uuid ?? (() => crypto.randomUUID()),
    console: options.console,
  };
}

export function noticesOf(php: 7 | 8): "visible" | "hidden" {
  return php === 8 ? "visible" : "hidden";
}
