import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type Command, type ExitCode, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { forgetStarted, readServiceFile, stateDirectory, wasStartedByUp } from "../command/local-service.ts";
import { UsageError } from "../command/usage-error.ts";
import { removeOtherFlag } from "../parts/take-over.ts";
import { answers } from "../service/service-process.ts";
import { Progress } from "../show/progress.ts";
import { destroy } from "./destroy.ts";

const pollMs = 50;
const endLimitMs = 60_000;

export const down: Command = {
  name: "down",
  summary: "Stop the service that labwright up started; labs keep running",
  details:
    "Labs keep running, and the next labwright up finds them again; labwright destroy removes a lab. A service that labwright up\n" +
    "did not start is not stopped. With -t, --lab or --no-wipe, down is the old name of labwright destroy and removes that lab.",
  flags: [
    topoFlag,
    labFlag,
    { long: "no-wipe", summary: "The same as for labwright destroy" },
    { ...yesFlag, summary: "Do not ask; stopping the service never asks" },
    { ...removeOtherFlag, summary: "The same as for labwright destroy" },
    timeoutFlag,
  ],
  example: "labwright down",
  run: async (context, args) =>
    ["topo", "lab", "no-wipe"].some((flag) => args.has(flag)) ? await destroy.run(context, args) : await stopService(context),
};

async function stopService(context: Context): Promise<ExitCode> {
  const state = stateDirectory();
  const service = await readServiceFile(state);
  const ours = service !== undefined && (await wasStartedByUp(state, service));
  if (service === undefined || !(await (ours ? isService(service.pid) : answers({ url: service.url, pin: service.fingerprint })))) {
    context.terminal.note(`no service of ${state} runs on this machine`);
    return 0;
  }
  const { pid, url, host } = service;
  if (!ours)
    throw new UsageError(
      `the service at ${url} (process ${pid}) was not started by labwright up and keeps running`,
      "stop it where it was started: Ctrl-C at labwright serve, or systemctl stop labwright; labwright destroy removes a lab",
    );
  using _progress = new Progress(context.terminal, `stopping the service at ${url}`, { quiet: context.quiet });
  signal(pid);
  const until = Date.now() + endLimitMs;
  while (await isService(pid)) {
    if (Date.now() > until)
      throw new UsageError(`the service (process ${pid}) did not end within ${endLimitMs / 1000} s`, `its log is ${state}/service.log`);
    await pause(pollMs);
  }
  await forgetStarted(state);
  context.terminal.note(
    `stopped the service at ${url}; ${host === "eve" ? "labs on the EVE-NG host" : "labs of the embedded host"} keep running until labwright destroy, and labwright up finds them again`,
  );
  return 0;
}

/** Returns whether the process is a service as `labwright up` starts it. The pid of a crashed service may belong to another program now. */
async function isService(pid: number): Promise<boolean> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0").some((word) => /\/server\/main\.[jt]s$/.test(word));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return false;
    throw error;
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EPERM") throw new UsageError(`the service (process ${pid}) belongs to another user`, "stop it as that user, or as root");
    if (code !== "ESRCH") throw error;
  }
}
