import { isIPv4 } from "node:net";
import { parseArgs } from "node:util";
import { parseFingerprint } from "../../transport/fingerprint.ts";
import { parseUrlPattern, type UrlPattern } from "../import-url/url-patterns.ts";
import { type OidcFlags, oidcFlagNames, oidcFlags } from "./oidc-flags.ts";

export interface ServeOptions {
  /** The provider at which users may sign in. Absent: none. */
  readonly oidc?: OidcFlags;
  readonly listen: string;
  /** 0: any free port. */
  readonly port: number;
  /** Takes any free port if the port is in use. */
  readonly anyPort: boolean;
  readonly stateDir: string;
  readonly host: "embedded" | "memory" | "eve" | "none";
  /** Present if `host` is eve. */
  readonly eve?: EveOptions;
  /** Paths of the user's own PEM files. */
  readonly own?: { readonly certificate: string; readonly key: string };
  /** More names for the self-signed certificate. */
  readonly names: readonly string[];
  /** Lifetimes of a bearer token, ms. Absent: the defaults of the service. */
  readonly sessionIdleMs?: number;
  readonly sessionAbsoluteMs?: number;
  /** Whether nodes start again after a reboot of the machine, in labs without a setting of their own. */
  readonly resume: "always" | "never";
  /** URL of a PostgreSQL database that replaces the file in the state directory. Without a password. */
  readonly store?: string;
  /** File with the password of that database. */
  readonly storePasswordFile?: string;
  /** Makes this service a machine of the database's fleet: the address at which the others reach it, https://HOST:PORT. */
  readonly advertise?: string;
  /** Its name in the fleet. Absent: the host name. */
  readonly machineName?: string;
  /** File with the one-time token of a machine that joins. */
  readonly joinTokenFile?: string;
  /** Starts with a new database although labs exist: their records are lost. */
  readonly adopt: boolean;
  /** Networks, as ADDRESS or ADDRESS/BITS, that labs may reach (`allow`) or may not reach (`deny`) through nat networks. */
  readonly nat: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  /** The file in which nodes with a management address get names. Absent: none. */
  readonly hostsFile?: string;
  /** Directories of the machine of which nodes of admins' labs may see files. */
  readonly bindAllow: readonly string[];
  /** The tunnels to other machines that labs may have. */
  readonly tunnels?: TunnelFlags;
  /** The IPv4 address of this machine for links of labs that are spread over machines. Default: that of `advertise`. */
  readonly underlay?: string;
  /** Hosts from which files of other tools may be loaded. Empty: none. */
  readonly importUrls: readonly UrlPattern[];
  readonly logLevel: "debug" | "info" | "warn" | "error";
  /** File of the audit log, absolute. Absent: there is none. */
  readonly auditLog?: string;
}

export interface EveOptions {
  readonly url: string;
  /** SHA-256 of its certificate. */
  readonly pin?: string;
  readonly plainHttp: boolean;
}

export const usage = `Usage: labwright serve [FLAG...]

  --listen ADDRESS         address to listen on (default 127.0.0.1; 0.0.0.0 or :: for every address)
  --port PORT              default 8443; 0 takes any free port
  --any-port               takes any free port if the port is in use
  --host KIND              embedded (default), memory, eve, or none: a machine of a fleet that runs no labs, and passes calls about labs on
  --host-url URL           address of the EVE-NG host, such as https://eve.lab (also --url)
  --host-pin SHA256        fingerprint of its certificate, if the certificate is self-signed
  --host-plain-http        allows an http:// URL: passwords then cross the network unencrypted
  --state-dir DIR          default LABWRIGHT_STATE_DIR, else /var/lib/labwright or ~/.local/state/labwright
  --store URL              keeps the service's data in PostgreSQL, such as postgres://labwright@db.example/labwright?sslmode=verify-full;
                           default: a file in the state directory
  --store-password-file FILE   the password of that database; otherwise PGPASSWORD or ~/.pgpass
  --advertise URL          makes this service a machine of the fleet of that database: the others reach it at this address of the machine,
                           such as https://192.0.2.7:8444, and only they
  --machine-name NAME      its name in the fleet (default: the host name)
  --join-token-file FILE   the output of labwright machines token; a new machine needs it once, the first one does not
  --cert FILE              your own certificate chain and key, PEM; without them
  --key FILE               the first start creates a certificate
  --name NAME              one more name or address for that certificate; may be repeated
  --session-idle TIME      a token expires after this time without a call: 90s, 15m, 12h (default) or 7d
  --session-lifetime TIME  a token expires this time after its login (default 7d)
  --resume WHEN            always or never (default): whether nodes that ran when the machine went down start again after
                           the reboot, in labs without a setting of their own (labwright resume --after-reboot)
  --adopt                  starts with a new database although labs exist, if their database is lost and there is no
                           backup: only admins see such labs
  --nat-allow NETWORK      allows labs to reach this network or address through nat networks, such as 10.1.0.0/16 or 10.1.2.3,
                           although it is private or local; may be repeated
  --nat-deny NETWORK       forbids it; may be repeated. The narrower network takes precedence; for equal networks, --nat-deny does
  --underlay ADDRESS       the address of this machine in a fleet for links of labs that are spread over machines. Default: that of --advertise
  --vxlan-local ADDRESS    lets networks of labs lead to other machines by VXLAN, from this address of the machine. Default: none do
  --vxlan-remote NETWORK   the machines that they may lead to, such as 192.0.2.0/28 or 192.0.2.7; may be repeated
  --vxlan-vnis FIRST-LAST  the VNIs that labs may have (default 1-16777215)
  --vxlan-port PORT        the UDP port of this machine and the others (default 4789)
  --hosts-file FILE        the file in which nodes of admins' labs with management get the name NODE.LAB: /etc/hosts (default for root),
                           another absolute path, or none
  --bind-allow DIRECTORY   lets nodes of admins' labs see files of this directory of the machine (binds); may be repeated. Default: none
  --import-url-allow HOST  lets users import files of other tools from this host by URL: HOST, *.DOMAIN or ADDRESS, with :PORT if it is not
                           the usual one, and with http:// for plain HTTP; may be repeated. Default: none
  --oidc-issuer URL        lets users also sign in at this OpenID Connect provider, such as https://id.example/realms/labs
  --oidc-client-id ID      the id of this service there; its redirect address is https://HOST:PORT/oidc/callback
  --oidc-client-secret-file FILE   its secret; without one it is a public client, with PKCE
  --oidc-name NAME         the provider's name on the button; default: its host
  --oidc-ca FILE           the authorities of the provider's certificate, PEM; default: those of Node
  --oidc-scope SCOPE       default "openid profile email"
  --oidc-groups-claim NAME the claim with the groups of a user; default: groups
  --oidc-admin-group GROUP members are admins; default: none are
  --oidc-user-group GROUP  members are users; default: everybody is, unless there is a group of viewers
  --oidc-viewer-group GROUP   members are viewers. Who is in none of the groups may not sign in
  --log-level LEVEL        debug, info (default), warn or error; JSON lines on standard error
  --audit-log FILE         adds who did what to this file, one JSON line for each change, login and console (docs/service.md);
                           SIGHUP opens it again. Default: no audit log
  --help

Environment: LABWRIGHT_LISTEN, LABWRIGHT_PORT, LABWRIGHT_HOST, LABWRIGHT_HOST_URL, LABWRIGHT_HOST_PIN, LABWRIGHT_STATE_DIR, LABWRIGHT_STORE, LABWRIGHT_STORE_PASSWORD_FILE, LABWRIGHT_ADVERTISE, LABWRIGHT_MACHINE_NAME, LABWRIGHT_JOIN_TOKEN_FILE, LABWRIGHT_CERT, LABWRIGHT_KEY, LABWRIGHT_NAMES (comma
list), LABWRIGHT_SESSION_IDLE, LABWRIGHT_SESSION_LIFETIME, LABWRIGHT_RESUME, LABWRIGHT_NAT_ALLOW and LABWRIGHT_NAT_DENY (comma lists), LABWRIGHT_VXLAN_LOCAL, LABWRIGHT_VXLAN_REMOTE (comma list), LABWRIGHT_VXLAN_VNIS, LABWRIGHT_VXLAN_PORT, LABWRIGHT_HOSTS_FILE, LABWRIGHT_BIND_ALLOW (colon list), LABWRIGHT_IMPORT_URL_ALLOW (comma list), LABWRIGHT_LOG_LEVEL, LABWRIGHT_AUDIT_LOG, LABWRIGHT_OIDC_ISSUER and so on for each --oidc flag, replace the flags. LABWRIGHT_ADMIN_PASSWORD is the
password of the user admin, which the first start creates.
`;

interface TunnelFlags {
  readonly local: string;
  readonly remotes: readonly string[];
  readonly vnis: { readonly first: number; readonly last: number };
  readonly port: number;
}

interface TunnelTexts {
  readonly local: string | undefined;
  readonly remotes: readonly string[];
  readonly vnis: string | undefined;
  readonly port: string | undefined;
}

/** Parses the flags of `serve`. A flag overrides the environment, the environment overrides the default. Returns "help" for --help. Throws an error for the user. */
export function serveOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  stateDir: string,
): ServeOptions | "help" {
  const values = flagsOf(args);
  if (values.help) return "help";
  const certificate = values.cert ?? env.LABWRIGHT_CERT;
  const key = values.key ?? env.LABWRIGHT_KEY;
  if ((certificate === undefined) !== (key === undefined)) throw new Error("--cert and --key must be given together");
  const idle = values["session-idle"] ?? env.LABWRIGHT_SESSION_IDLE;
  const lifetime = values["session-lifetime"] ?? env.LABWRIGHT_SESSION_LIFETIME;
  const host = hostOf(values.host ?? env.LABWRIGHT_HOST ?? "embedded");
  const hostUrl = values["host-url"] ?? values.url ?? env.LABWRIGHT_HOST_URL;
  const pin = values["host-pin"] ?? env.LABWRIGHT_HOST_PIN;
  const plainHttp = values["host-plain-http"] ?? false;
  if (host !== "eve" && (values["host-url"] ?? values.url ?? values["host-pin"]) !== undefined) {
    throw new Error(`--host-url and --host-pin are for --host eve, not ${host}`);
  }
  const store = values.store ?? env.LABWRIGHT_STORE;
  const storePasswordFile = values["store-password-file"] ?? env.LABWRIGHT_STORE_PASSWORD_FILE;
  if (store === undefined && values["store-password-file"] !== undefined) throw new Error("--store-password-file needs --store");
  const advertise = values.advertise ?? (env.LABWRIGHT_ADVERTISE || undefined);
  if (advertise !== undefined && store === undefined)
    throw new Error("--advertise needs --store: the machines of a fleet share a database");
  const machineName = values["machine-name"] ?? (env.LABWRIGHT_MACHINE_NAME || undefined);
  const joinTokenFile = values["join-token-file"] ?? (env.LABWRIGHT_JOIN_TOKEN_FILE || undefined);
  if (advertise === undefined && (values["machine-name"] ?? values["join-token-file"]) !== undefined)
    throw new Error("--machine-name and --join-token-file need --advertise");
  if (host === "none" && advertise === undefined)
    throw new Error("--host none needs --store and --advertise: without labs of its own, it passes calls on to the machines of a fleet");
  const auditLog = values["audit-log"] ?? (env.LABWRIGHT_AUDIT_LOG || undefined);
  const resume = oneOf("--resume", values.resume ?? env.LABWRIGHT_RESUME ?? "never", ["always", "never"]);
  if (host !== "embedded" && values.resume === "always") {
    throw new Error(`--resume always is for --host embedded: the nodes of --host ${host} do not end with this machine`);
  }
  const nat = {
    allow: networksOf("--nat-allow", values["nat-allow"] ?? listOf(env.LABWRIGHT_NAT_ALLOW)),
    deny: networksOf("--nat-deny", values["nat-deny"] ?? listOf(env.LABWRIGHT_NAT_DENY)),
  };
  if (host !== "embedded" && (values["nat-allow"] ?? values["nat-deny"]) !== undefined) {
    throw new Error(`--nat-allow and --nat-deny are for --host embedded, not ${host}`);
  }
  const tunnels = tunnelFlags(
    host,
    {
      local: values["vxlan-local"] ?? (env.LABWRIGHT_VXLAN_LOCAL || undefined),
      remotes: values["vxlan-remote"] ?? listOf(env.LABWRIGHT_VXLAN_REMOTE),
      vnis: values["vxlan-vnis"] ?? (env.LABWRIGHT_VXLAN_VNIS || undefined),
      port: values["vxlan-port"] ?? (env.LABWRIGHT_VXLAN_PORT || undefined),
    },
    values["vxlan-local"] !== undefined,
  );
  const underlay = values.underlay ?? (env.LABWRIGHT_UNDERLAY || undefined);
  const bindAllow = (values["bind-allow"] ?? env.LABWRIGHT_BIND_ALLOW?.split(":").filter((path) => path !== "") ?? []).map((path) =>
    absoluteOf("--bind-allow", path),
  );
  if (host !== "embedded" && values["bind-allow"] !== undefined) throw new Error(`--bind-allow is for --host embedded, not ${host}`);
  if (host !== "embedded" && values["hosts-file"] !== undefined) throw new Error(`--hosts-file is for --host embedded, not ${host}`);
  const oidc = oidcFlags(
    host,
    (name) => values[`oidc-${name}`] ?? (env[`LABWRIGHT_OIDC_${name.toUpperCase().replaceAll("-", "_")}`] || undefined),
  );
  const hostsFile = host === "embedded" ? hostsFileOf(values["hosts-file"] ?? env.LABWRIGHT_HOSTS_FILE ?? "/etc/hosts") : undefined;
  return {
    listen: values.listen ?? env.LABWRIGHT_LISTEN ?? "127.0.0.1",
    port: values.port === undefined ? portOf("LABWRIGHT_PORT", env.LABWRIGHT_PORT ?? "8443") : portOf("--port", values.port),
    anyPort: values["any-port"] ?? false,
    host,
    ...(host === "eve" && { eve: eveOf(hostUrl, pin, plainHttp) }),
    stateDir: directoryOf(values["state-dir"] ?? stateDir),
    names: values.name ?? listOf(env.LABWRIGHT_NAMES),
    resume,
    ...(oidc !== undefined && { oidc }),
    ...(store !== undefined && { store }),
    ...(storePasswordFile !== undefined && { storePasswordFile }),
    ...(advertise !== undefined && { advertise: advertiseOf(advertise) }),
    ...(machineName !== undefined && { machineName: machineNameOf(machineName) }),
    ...(joinTokenFile !== undefined && { joinTokenFile }),
    adopt: values.adopt ?? false,
    nat,
    ...(hostsFile !== undefined && { hostsFile }),
    bindAllow,
    ...(tunnels !== undefined && { tunnels }),
    ...(underlay !== undefined && { underlay: underlayOf(underlay) }),
    importUrls: (values["import-url-allow"] ?? listOf(env.LABWRIGHT_IMPORT_URL_ALLOW)).map(parseUrlPattern),
    logLevel: oneOf("--log-level", values["log-level"] ?? env.LABWRIGHT_LOG_LEVEL ?? "info", ["debug", "info", "warn", "error"]),
    ...(auditLog !== undefined && { auditLog: absoluteOf("--audit-log", auditLog) }),
    ...(idle === undefined ? {} : { sessionIdleMs: timeOf("--session-idle", idle) }),
    ...(lifetime === undefined ? {} : { sessionAbsoluteMs: timeOf("--session-lifetime", lifetime) }),
    ...(certificate !== undefined && key !== undefined ? { own: { certificate, key } } : {}),
  };
}

const oidcOptions = Object.fromEntries(oidcFlagNames.map((name) => [`oidc-${name}`, { type: "string" }])) as Record<
  `oidc-${(typeof oidcFlagNames)[number]}`,
  { readonly type: "string" }
>;

function flagsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        listen: { type: "string" },
        port: { type: "string" },
        "any-port": { type: "boolean" },
        host: { type: "string" },
        "host-url": { type: "string" },
        url: { type: "string" },
        "host-pin": { type: "string" },
        "host-plain-http": { type: "boolean" },
        "state-dir": { type: "string" },
        cert: { type: "string" },
        key: { type: "string" },
        name: { type: "string", multiple: true },
        store: { type: "string" },
        "store-password-file": { type: "string" },
        advertise: { type: "string" },
        "machine-name": { type: "string" },
        "join-token-file": { type: "string" },
        "session-idle": { type: "string" },
        "session-lifetime": { type: "string" },
        resume: { type: "string" },
        adopt: { type: "boolean" },
        "nat-allow": { type: "string", multiple: true },
        "nat-deny": { type: "string", multiple: true },
        underlay: { type: "string" },
        "vxlan-local": { type: "string" },
        "vxlan-remote": { type: "string", multiple: true },
        "vxlan-vnis": { type: "string" },
        "vxlan-port": { type: "string" },
        "hosts-file": { type: "string" },
        "bind-allow": { type: "string", multiple: true },
        "import-url-allow": { type: "string", multiple: true },
        "log-level": { type: "string" },
        "audit-log": { type: "string" },
        help: { type: "boolean", short: "h" },
        ...oidcOptions,
      },
    }).values;
  } catch (error) {
    throw new Error(`${(error as Error).message}; labwright serve --help shows the flags`);
  }
}

function listOf(text: string | undefined): string[] {
  return text?.split(",").filter((item) => item !== "") ?? [];
}

/** Returns networks as ADDRESS/BITS with the host bits cleared, as nftables compares them. */
function networksOf(flag: string, given: readonly string[]): string[] {
  return given.map((text) => {
    const [, address = "", bits = "32"] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(text.trim()) ?? [];
    if (!isIPv4(address) || Number(bits) > 32) {
      throw new Error(`${flag} takes an IPv4 network such as 10.1.0.0/16, or an address, not ${JSON.stringify(text)}`);
    }
    const number = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
    const network = Math.floor(number / 2 ** (32 - Number(bits))) * 2 ** (32 - Number(bits));
    return `${[24, 16, 8, 0].map((shift) => Math.floor(network / 2 ** shift) % 256).join(".")}/${Number(bits)}`;
  });
}

function underlayOf(given: string): string {
  if (!isIPv4(given)) throw new Error(`--underlay takes an IPv4 address of this machine, not ${JSON.stringify(given)}`);
  return given;
}

/** Returns what the --vxlan flags allow; `undefined` without --vxlan-local. */
function tunnelFlags(
  host: string,
  { local, remotes, vnis = "1-16777215", port = "4789" }: TunnelTexts,
  isFlag: boolean,
): TunnelFlags | undefined {
  if (local === undefined) {
    if (remotes.length > 0) throw new Error("--vxlan-remote needs --vxlan-local: the address of this machine from which tunnels lead");
    return undefined;
  }
  if (host !== "embedded" && isFlag) throw new Error(`--vxlan-local is for --host embedded, not ${host}`);
  if (!isIPv4(local)) throw new Error(`--vxlan-local takes an IPv4 address of this machine, not ${JSON.stringify(local)}`);
  if (remotes.length === 0) throw new Error("--vxlan-local needs --vxlan-remote: the machines that labs may reach");
  const [, first = "", last = first] = /^(\d{1,8})(?:-(\d{1,8}))?$/.exec(vnis) ?? [];
  const range = { first: Number(first), last: Number(last) };
  const [min, max] = [1, 16_777_215];
  if (first === "" || range.first < min || range.last > max || range.first > range.last)
    throw new Error(`--vxlan-vnis takes FIRST-LAST, from ${min} to ${max}, not ${JSON.stringify(vnis)}`);
  return { local, remotes: networksOf("--vxlan-remote", remotes), vnis: range, port: portOf("--vxlan-port", port) };
}

function advertiseOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  // URL leaves out the usual port.
  const port = /:(\d+)\/?$/.exec(given)?.[1];
  if (url?.protocol !== "https:" || port === undefined || port === "0" || url.pathname !== "/" || url.username !== "" || /[?#]/.test(given))
    throw new Error(
      `--advertise takes an address of this machine with a port, such as https://192.0.2.7:8444, not ${JSON.stringify(given)}`,
    );
  return `https://${url.hostname}:${port}`;
}

function machineNameOf(given: string): string {
  if (/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/i.test(given)) return given;
  throw new Error(`--machine-name takes up to 63 letters, digits, dots and dashes, not ${JSON.stringify(given)}`);
}

function hostsFileOf(given: string): string | undefined {
  if (given === "none") return undefined;
  if (!given.startsWith("/")) throw new Error(`--hosts-file takes an absolute path or none, not ${JSON.stringify(given)}`);
  return given;
}

function absoluteOf(flag: string, given: string): string {
  if (given.startsWith("/")) return given;
  throw new Error(`${flag} takes an absolute path, not ${JSON.stringify(given)}`);
}

function directoryOf(given: string): string {
  if (given === "") throw new Error("--state-dir (or LABWRIGHT_STATE_DIR) is empty: name a directory, or leave it out");
  return given;
}

function hostOf(given: string): ServeOptions["host"] {
  if (/^pnet(lab)?$/i.test(given)) {
    throw new Error("PNETLab uses --host eve with its --host-url: the service detects which of the two the host is");
  }
  return oneOf("--host", given, ["embedded", "memory", "eve", "none"]);
}

function eveOf(url: string | undefined, pin: string | undefined, plainHttp: boolean): EveOptions {
  if (url === undefined) throw new Error("--host eve needs --host-url, such as https://eve.lab");
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  if (protocol !== "https:" && protocol !== "http:")
    throw new Error(`--host-url takes a URL such as https://eve.lab, not ${JSON.stringify(url)}`);
  if (protocol === "http:" && !plainHttp) {
    throw new Error(
      "--host-url is http://: passwords would cross the network unencrypted; add --host-plain-http to allow that, or give an https:// URL",
    );
  }
  const { username, password, pathname, search, hash } = new URL(url);
  if (username !== "" || password !== "") {
    throw new Error(
      "--host-url contains a user name or a password, which every user of the service would see: remove it; users sign in with their own",
    );
  }
  if (pathname !== "/" || search !== "" || hash !== "" || /[?#]/.test(url)) {
    throw new Error("--host-url takes the address of the host alone, such as https://eve.lab, without path, query and fragment");
  }
  return { url, ...(pin !== undefined && { pin: pinOf(pin) }), plainHttp };
}

function pinOf(given: string): string {
  try {
    return parseFingerprint(given);
  } catch {
    throw new Error(
      `--host-pin takes the SHA-256 fingerprint of the host's certificate, 64 hex digits with or without colons, not ${JSON.stringify(given)}`,
    );
  }
}

function portOf(name: string, text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`${name} takes a number from 0 to 65535, not ${JSON.stringify(text)}`);
  return port;
}

function oneOf<const W extends string>(flag: string, given: string, words: readonly W[]): W {
  const found = words.find((word) => word === given);
  if (found === undefined) throw new Error(`${flag} takes one of ${words.join(", ")}, not ${JSON.stringify(given)}`);
  return found;
}

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses 90s, 15m, 12h or 7d to milliseconds. */
function timeOf(flag: string, text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new Error(`${flag} takes a time such as 90s, 15m, 12h or 7d, not ${JSON.stringify(text)}`);
  return Number(count) * (units[unit] ?? 0);
}
