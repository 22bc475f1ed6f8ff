import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect, LabwrightError } from "../../client/index.ts";
import { programPath } from "../../files/program-path.ts";
import { markStarted, readServiceFile, type ServiceFile } from "../command/local-service.ts";
import { UsageError } from "../command/usage-error.ts";

const usualPort = 8443;
const startLimitMs = 30_000;

/** The path of the service's program. */
export function servicePath(): string {
  return programPath("server/main");
}

/** The path of the program that copies the data of a service into another database. */
export function copyStorePath(): string {
  return programPath("server/copy-store");
}

/** The path of the program that prepares a machine for the embedded host. */
export function setupPath(): string {
  return programPath("hosts/local/setup/main");
}

/** The path of the program that manages this machine's container images. */
export function imagesPath(): string {
  return programPath("hosts/local/containers/main");
}

/** The path of the program that manages the registries of this machine's embedded host. */
export function registriesPath(): string {
  return programPath("hosts/local/registries/main");
}

/** The path of the program that manages the accounts of this machine's embedded host. */
export function usersPath(): string {
  return programPath("server/users");
}

/** The path of the program that examines this machine's kernel. */
export function doctorPath(): string {
  return programPath("hosts/local/own-kernel/doctor");
}

/** Returns whether a service answers at this address. */
export async function answers(service: { readonly url: string; readonly pin?: string | undefined }): Promise<boolean> {
  return (await answerOf(service)) === "answers";
}

/** Checks an address: a usable service answers, nobody listens, or something else is wrong, such as the certificate. */
export async function answerOf(service: {
  readonly url: string;
  readonly pin?: string | undefined;
}): Promise<"answers" | "nobody" | "unusable"> {
  try {
    using client = connect(service);
    await client.getHealth({}, { timeoutMs: 2_000 });
    return "answers";
  } catch (error) {
    return error instanceof LabwrightError && error.status === 0 && error.code === "host_unreachable" ? "nobody" : "unusable";
  }
}

/** The message of a service that finds another service on its state directory. */
const heldByAnother = "another service runs on the state directory";

/**
 * Starts a service in its own session, which continues after this command. Its output is written to the state directory. Returns when the service answers, or
 * when another service answers that was started there at the same moment (`started` false). Throws UsageError with the end of the log otherwise.
 */
export async function startService(options: {
  readonly state: string;
  readonly flags: readonly string[];
  /** The port as typed. Absent: LABWRIGHT_PORT, otherwise 8443, or any free port if 8443 is in use. */
  readonly port?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}): Promise<ServiceFile & { readonly started: boolean }> {
  const log = join(options.state, "service.log");
  const output = openSync(log, "a", 0o600);
  // The existing lines are from earlier services.
  const before = fstatSync(output).size;
  const given = options.port ?? process.env.LABWRIGHT_PORT;
  // The service must get a requested port, or the start fails. Without a request, any free port is as good as the usual one: two services may start at once.
  const usual = given === undefined || given === "" ? ["--port", String(usualPort), "--any-port"] : undefined;
  // The service reads LABWRIGHT_PORT itself, and its error names the variable.
  const port = usual ?? (options.port === undefined ? [] : ["--port", options.port]);
  const flags = [...port, ...options.flags];
  // Registered before the service runs, so that a signal during the spawn ends it too.
  using _ = endedBySignals(() => child);
  const child = spawn(process.execPath, [...process.execArgv, servicePath(), ...flags], {
    detached: true,
    stdio: ["ignore", output, output],
    env: { ...process.env, ...options.env },
  });
  closeSync(output);
  const begin = Date.now();
  let held = false;
  while (Date.now() - begin < startLimitMs) {
    const service = await readServiceFile(options.state);
    const started = service?.pid === child.pid;
    if (service !== undefined && (started || held) && (await answers({ url: service.url, pin: service.fingerprint }))) {
      child.unref();
      if (started) await markStarted(options.state, service);
      return { ...service, started };
    }
    if (hasEnded(child)) held = lastLines(log, before).includes(heldByAnother);
    if (hasEnded(child) && !held) break;
    await pause(50);
  }
  await end(child);
  throw new UsageError(`the service did not start:\n${lastLines(log, before)}`, `its log is ${log}`);
}

/** Ends the service if a signal ends this command before the service answers: labwright down would not recognize such a service as started by up. */
function endedBySignals(child: () => ChildProcess): Disposable {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const onSignal = (signal: NodeJS.Signals) => {
    for (const one of signals) process.off(one, onSignal);
    if (child().kill("SIGTERM")) process.stderr.write("the service that was starting was ended\n");
    process.kill(process.pid, signal);
  };
  for (const one of signals) process.on(one, onSignal);
  return {
    [Symbol.dispose]: () => {
      for (const one of signals) process.off(one, onSignal);
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await gone;
}

function lastLines(file: string, from: number): string {
  return readFileSync(file).subarray(from).toString().trimEnd().split("\n").slice(-15).join("\n");
}
