import { nearest } from "../intent/diagnostics/nearest.ts";
import type { Command } from "./command/command.ts";
import { commandHelp, helpMarkdown, overview } from "./command/help.ts";
import { UsageError } from "./command/usage-error.ts";
import { adopt } from "./commands/adopt.ts";
import { apply } from "./commands/apply.ts";
import { board } from "./commands/board.ts";
import { capture } from "./commands/capture.ts";
import { captures } from "./commands/captures.ts";
import { cli } from "./commands/cli.ts";
import { collect } from "./commands/collect.ts";
import { consoleCommand } from "./commands/console.ts";
import { consoles } from "./commands/consoles.ts";
import { cp } from "./commands/cp.ts";
import { deploy } from "./commands/deploy.ts";
import { destroy } from "./commands/destroy.ts";
import { disks } from "./commands/disks.ts";
import { doctor } from "./commands/doctor.ts";
import { down } from "./commands/down.ts";
import { events } from "./commands/events.ts";
import { exec } from "./commands/exec.ts";
import { exportCommand } from "./commands/export.ts";
import { extcap } from "./commands/extcap.ts";
import { fanout } from "./commands/fanout.ts";
import { grants } from "./commands/grants.ts";
import { graph } from "./commands/graph.ts";
import { history } from "./commands/history.ts";
import { host } from "./commands/host.ts";
import { image } from "./commands/image.ts";
import { importCommand } from "./commands/import.ts";
import { importFile } from "./commands/import-file.ts";
import { inspect } from "./commands/inspect.ts";
import { inventory } from "./commands/inventory.ts";
import { jobs } from "./commands/jobs.ts";
import { labs } from "./commands/labs.ts";
import { lease } from "./commands/lease.ts";
import { link } from "./commands/link.ts";
import { load } from "./commands/load.ts";
import { lock, unlock } from "./commands/lock.ts";
import { login } from "./commands/login.ts";
import { logout } from "./commands/logout.ts";
import { logs } from "./commands/logs.ts";
import { machines } from "./commands/machines.ts";
import { open } from "./commands/open.ts";
import { pictures } from "./commands/pictures.ts";
import { plan } from "./commands/plan.ts";
import { restart, start, stop, wipe } from "./commands/power.ts";
import { pull } from "./commands/pull.ts";
import { quarantine } from "./commands/quarantine.ts";
import { quota } from "./commands/quota.ts";
import { registry } from "./commands/registry.ts";
import { render } from "./commands/render.ts";
import { renumber } from "./commands/renumber.ts";
import { reserve } from "./commands/reserve.ts";
import { resume } from "./commands/resume.ts";
import { save } from "./commands/save.ts";
import { serve } from "./commands/serve.ts";
import { setup } from "./commands/setup.ts";
import { shell } from "./commands/shell.ts";
import { snapshot } from "./commands/snapshot.ts";
import { ssh } from "./commands/ssh.ts";
import { status } from "./commands/status.ts";
import { store } from "./commands/store.ts";
import { switches } from "./commands/switches.ts";
import { systemdUnitCommand } from "./commands/systemd-unit.ts";
import { tasks } from "./commands/tasks.ts";
import { templates } from "./commands/templates.ts";
import { test } from "./commands/test.ts";
import { token } from "./commands/token.ts";
import { traffic } from "./commands/traffic.ts";
import { up } from "./commands/up.ts";
import { users } from "./commands/users.ts";
import { validate } from "./commands/validate.ts";
import { version } from "./commands/version.ts";
import { wait } from "./commands/wait.ts";
import { completionScript, type Shell, shells } from "./completion.ts";
import { wordList } from "./show/table.ts";

const completion: Command = {
  name: "completion",
  summary: "Print a completion script for a shell",
  operands: "bash|zsh|fish",
  maxOperands: 1,
  choices: shells,
  flags: [],
  offline: true,
  example: "source <(labwright completion bash)",
  run: async ({ terminal }, { operands: [name] }) => {
    if (!shells.includes(name as Shell))
      throw new UsageError(`completion takes ${wordList(shells)}${name === undefined ? "" : `, not "${name}"`}`);
    terminal.stdout.write(completionScript(name as Shell, commands));
    return 0;
  },
};

const help: Command = {
  name: "help",
  summary: "Show all commands, or the help of one",
  operands: "[COMMAND]",
  maxOperands: 1,
  flags: [{ long: "markdown", summary: "The complete reference, as in docs/cli.md" }],
  offline: true,
  example: "labwright help apply",
  run: async ({ terminal }, args) => {
    const [name] = args.operands;
    if (args.has("markdown")) terminal.stdout.write(helpMarkdown(commands));
    else terminal.print(name === undefined ? overview(commands) : commandHelp(findCommand(name)));
    return 0;
  },
};

/** Every command, in the order of a lab's life. Help, completion and docs/cli.md are generated from this list. */
export const commands: readonly Command[] = [
  up,
  down,
  setup,
  serve,
  systemdUnitCommand,
  login,
  logout,
  token,
  validate,
  render,
  plan,
  deploy,
  apply,
  pull,
  save,
  test,
  wait,
  destroy,
  doctor,
  importCommand,
  exportCommand,
  graph,
  importFile,
  load,
  status,
  open,
  events,
  inspect,
  inventory,
  consoles,
  consoleCommand,
  logs,
  exec,
  cp,
  shell,
  ssh,
  cli,
  start,
  stop,
  restart,
  wipe,
  resume,
  lease,
  renumber,
  snapshot,
  link,
  capture,
  captures,
  extcap,
  traffic,
  jobs,
  history,
  labs,
  switches,
  tasks,
  pictures,
  grants,
  lock,
  unlock,
  adopt,
  disks,
  quarantine,
  host,
  templates,
  image,
  registry,
  users,
  machines,
  quota,
  reserve,
  fanout,
  board,
  collect,
  store,
  completion,
  version,
  help,
];

/** Finds a command by its name or alias. Throws UsageError. */
export function findCommand(name: string): Command {
  const found = commands.find((command) => command.name === name || command.aliases?.includes(name) === true);
  if (found !== undefined) return found;
  const meant = nearest(
    name,
    commands.map((command) => command.name),
  );
  throw new UsageError(
    `there is no command "${name}"`,
    /\.ya?ml$/i.test(name)
      ? `did you mean labwright up ${name}?`
      : meant === undefined
        ? "labwright help lists them"
        : `did you mean labwright ${meant}?`,
  );
}
