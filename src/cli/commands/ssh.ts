import { spawn } from "node:child_process";
import { constants } from "node:os";
import { LabwrightError } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { askedService, type InventoryNode, inventoryNodes, sshOf } from "../inventory/inventory-node.ts";
import { publicKeys } from "../reach/public-keys.ts";
import { identityFlag, proxyCommand, sshMeans, sshName, sshOptions } from "../reach/ssh-options.ts";
import { sshServer } from "../reach/ssh-server.ts";
import { chosenNode } from "../selectors/chosen-nodes.ts";
import { talk } from "../streams/talk.ts";

export const ssh: Command = {
  name: "ssh",
  summary: "Sign in to a node by SSH, through the service; returns the exit code of ssh",
  operands: "[USER@]NODE [-- COMMAND...]",
  completes: "node",
  details:
    "Starts sshd in the node for this connection alone, which comes through the service: the node needs no address, and no port is open. sshd accepts only your\n" +
    "public keys: those of ssh-agent and ~/.ssh/*.pub, or that of --identity. It is open to all who may run programs in the node. A virtual machine must run sshd\n" +
    "itself: it is reached by its management address, or by the port 22 that it publishes. USER is root, or the node's label ssh-user. For scp, sftp, rsync, port\n" +
    "forwarding and other settings of ssh see labwright inventory --format ssh-config.",
  flags: [
    topoFlag,
    labFlag,
    identityFlag,
    { long: "proxy", summary: "Connect standard input and output with sshd of the node, as ProxyCommand of ssh" },
  ],
  example: "labwright ssh r1",
  run: async (context, args) => {
    const { node: word, command } = operandsOf(args);
    if (args.has("proxy")) return await proxy(context, word, args.text("identity"));
    const { user, name } = userOf(word);
    const node = await chosenNode(context, name);
    const { selector } = await context.project();
    const client = await context.client();
    const [data, asked] = await Promise.all([client.inspectProject(selector), askedService(client)]);
    const { lab } = data;
    const found = data.nodes.find(({ unique_key, node: key, name: own }) => [unique_key, key, own].includes(node));
    if (found === undefined) throw new UsageError(`${lab} has no node "${node}"`, "labwright status lists them");
    const [known] = inventoryNodes({ ...data, nodes: [{ ...found, status: "running" }] }, asked);
    const login = user ?? known?.user ?? "root";
    if (known?.isMachine === true) return await toMachine(known, found.status, { isHere: asked.isHere, lab, login, command }, args);
    const keys = await publicKeys(args.text("identity"));
    context.terminal.note(`signing in to ${node} with ${keys.length === 1 ? "your public key" : `your ${keys.length} public keys`}`);
    const means = sshMeans(lab, args, true);
    const settings = { ...sshOptions(means, login), ProxyCommand: proxyCommand(node, means) };
    return await runSsh([...optionsOf(settings), sshName(node, lab.split("/").at(-1) ?? lab), ...command]);
  },
};

interface Login {
  /** This is the machine of the service. */
  readonly isHere: boolean;
  readonly lab: string;
  readonly login: string;
  readonly command: readonly string[];
}

/** Signs in to a virtual machine, whose own SSH server must run: at its management address, or at the port that it publishes. */
async function toMachine(node: InventoryNode, status: string, { isHere, lab, login, command }: Login, args: Arguments): Promise<number> {
  if (status !== "running") throw new UsageError(`${node.name} is ${status}: a virtual machine is reached while it runs`);
  const place = sshOf(node);
  // A port of 127.0.0.1 is on the machine of the service.
  if (place === undefined || (!isHere && place.address === "127.0.0.1"))
    throw new UsageError(
      `${node.name} is a virtual machine, and nothing leads to its SSH server from here`,
      `on ${node.elsewhere === undefined ? "the machine of the service" : `its machine, ${node.elsewhere}`}, write management: true in the lab; elsewhere also ports: ["2222:22"] of ${node.name}, and forward that port. Its console: labwright console ${node.name}`,
    );
  const options = optionsOf({ ...sshOptions(sshMeans(lab, args, true), login), Port: String(place.port) });
  return await runSsh([...options, place.address, ...command]);
}

function optionsOf(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
}

/** Splits [USER@]NODE. */
function userOf(word: string): { readonly user?: string; readonly name: string } {
  const [, user, name] = /^([A-Za-z_][\w.-]*)@(.+)$/.exec(word) ?? [];
  return user === undefined || name === undefined ? { name: word } : { user, name };
}

/** Returns NODE and the command. The proxy has NODE itself behind --, where it may begin with any character. */
function operandsOf(args: Arguments): { readonly node: string; readonly command: readonly string[] } {
  const rest = args.rest ?? [];
  const before = args.operands.slice(0, args.operands.length - rest.length);
  const [node, surplus] = args.has("proxy") ? args.operands : before;
  if (node === undefined) throw new UsageError("ssh needs a node", "labwright status lists them");
  if (surplus !== undefined)
    throw new UsageError(`ssh: "${surplus}" is not expected here`, "a command is given after --: labwright ssh r1 -- uptime");
  return { node, command: args.has("proxy") ? [] : rest };
}

async function proxy(context: Context, node: string, identity: string | undefined): Promise<number> {
  const argv = sshServer(await publicKeys(identity));
  const { selector } = await context.project();
  const client = await context.client();
  const program = await client.openProcess({ ...selector, node, argv }).catch((error: unknown) => {
    if (!(error instanceof LabwrightError) || error.code !== "unsupported") throw error;
    throw new UsageError(error.message, `its console is there: labwright console ${node}`);
  });
  const end = await talk(context, program, false);
  if (end?.reason === "node_stopped") context.terminal.complain(`${node} was stopped`);
  return end?.exit_code ?? 1;
}

/** Runs ssh with the terminal of this program. */
function runSsh(argv: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("ssh", argv, { stdio: "inherit" });
    // ssh has the terminal, and gets Ctrl-C from it.
    const ignore = () => {};
    process.on("SIGINT", ignore);
    child.once("error", () => reject(new UsageError("there is no program ssh on this machine", "install it, or use labwright shell")));
    child.once("close", (code, signal) => {
      process.off("SIGINT", ignore);
      resolve(code ?? 128 + (constants.signals[signal ?? "SIGTERM"] ?? 0));
    });
  });
}
