import { Failure } from "../../../contract/errors.ts";
import type { HostConsole, HostSession } from "../../host.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LocalState } from "./local-state.ts";
import { notRunning } from "./not-running.ts";
import type { UserLabs } from "./user-labs.ts";

/** Returns the calls on consoles and screens of one user's labs. */
export function consoleCalls(state: LocalState, { lab }: UserLabs): Required<Pick<HostSession, "screens" | "consoleLog" | "console">> {
  const { catalogue } = state;
  return {
    screens: async (path) => {
      const definition = await lab(path);
      const found = await state.lab(definition.id).screens(definition, await catalogue());
      return new Map([...found].map(([id, socket]) => [String(id), `unix:${socket}`]));
    },
    consoleLog: async (path, nodeId) => consoleLog(state, await lab(path), nodeId, await catalogue()),
    console: async (path, nodeId) => openConsole(state, await lab(path), nodeId, await catalogue()),
  };
}

async function consoleLog(state: LocalState, definition: LabDefinition, nodeId: string, offered: Catalogue): Promise<string> {
  const node = definition.nodes.find(({ id }) => String(id) === nodeId);
  if (node === undefined) throw new Failure("node_not_found", `the lab has no node with id ${nodeId}`);
  const live = state.lab(definition.id);
  await live.life(definition, offered);
  await live.refuseForeign();
  try {
    return (await live.sandbox?.tail(node.id)) ?? "";
  } catch (error) {
    // The lab's holder does not have a node that has not run since the holder started.
    if (error instanceof Failure && error.code === "node_not_found") return "";
    throw error;
  }
}

async function openConsole(state: LocalState, definition: LabDefinition, nodeId: string, offered: Catalogue): Promise<HostConsole> {
  const node = definition.nodes.find((one) => String(one.id) === nodeId);
  if (node === undefined) throw new Failure("node_not_found", `the lab has no node with id ${nodeId}`);
  if (offered.template(node.template)?.console.type === "none") {
    throw new Failure("unsupported", `${node.name} has no console`, { data: { feature: "consoleStream" } });
  }
  const live = state.lab(definition.id);
  const life = (await live.life(definition, offered)).get(node.id);
  const sandbox = live.sandbox;
  await live.refuseForeign();
  if (sandbox === null || life === undefined || !["running", "starting", "stopping"].includes(life.power)) {
    throw notRunning(node.name, life?.power);
  }
  const stream = await sandbox.console(node.id);
  return {
    stream,
    recalled: stream.recalled,
    listen: (each) => stream.listen(each),
    resize: (columns, rows) => {
      // Fails if the node has ended, and its console with it. Then the size no longer matters.
      sandbox.resize(node.id, columns, rows).catch(() => undefined);
    },
  };
}
