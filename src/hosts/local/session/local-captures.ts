import { interfaceNames, interfaceNaming } from "../../../base/names/interface-names.ts";
import { Failure } from "../../../contract/errors.ts";
import type { CaptureRequest, HostCaptures } from "../../host-captures.ts";
import type { CapturedLab } from "../capture/captures.ts";
import { compileFilter } from "../capture/compile-filter.ts";
import { readCapture } from "../decoder/read-capture.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { portName } from "../links/fabric.ts";
import { tellingTrouble } from "../machine/machine-trouble.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LocalState } from "./local-state.ts";
import { notRunning } from "./not-running.ts";

/** Returns the captures of the embedded host for one user. `lab` throws lab_not_found, `mayChange` operation_not_allowed. */
export function localCaptures(
  state: LocalState,
  user: { readonly name: string; readonly lab: (path: string) => Promise<LabDefinition>; readonly mayChange: () => void },
): HostCaptures {
  const { captures, definitions } = state;

  async function captured(path: string): Promise<CapturedLab> {
    const definition = await user.lab(path);
    const live = state.lab(definition.id);
    await live.adopt();
    const hanging = live.hanging();
    if (hanging !== undefined) throw hanging;
    return { definition, directory: definitions.directory(definition.id), sandbox: live.sandbox };
  }

  async function directoryOf(path: string, id: string): Promise<string> {
    const lab = await captured(path);
    await captures.record(lab, id);
    return captures.directory(lab, id);
  }

  return {
    start: async (path, request) => {
      user.mayChange();
      const definition = await user.lab(path);
      const catalogue = await state.catalogue();
      if (!catalogue.features.capture) throw new Failure("unsupported", "this host cannot capture", { data: { feature: "capture" } });
      const { node, port } = portOf(definition, request, catalogue);
      const program = request.filter === undefined ? undefined : await compileFilter(catalogue.images, request.filter, user.name);
      const life = (await state.lab(definition.id).life(definition, catalogue)).get(node.id);
      const { sandbox, ...lab } = await captured(path);
      const isUp = life !== undefined && ["running", "starting", "stopping"].includes(life.power);
      if (sandbox === null || !isUp) throw notRunning(node.name, life?.power);
      return tellingTrouble(() => captures.start({ ...lab, sandbox }, { ...request, ...(program !== undefined && { program }) }, port));
    },
    list: async (path) => captures.list(await captured(path)),
    get: async (path, id) => captures.get(await captured(path), id),
    stop: async (path, id) => {
      user.mayChange();
      return captures.stop(await captured(path), id);
    },
    remove: async (path, id) => {
      user.mayChange();
      const lab = await captured(path);
      await captures.record(lab, id);
      await state.decoders.forget(captures.directory(lab, id));
      await captures.remove(lab, id);
    },
    packets: (path, id, query) => tellingTrouble(async () => state.views.packets(await directoryOf(path, id), user.name, query)),
    packet: (path, id, number) => tellingTrouble(async () => state.views.packet(await directoryOf(path, id), user.name, number)),
    read: async function* (path, id, { follow, signal }) {
      const lab = await captured(path);
      await captures.record(lab, id);
      const directory = captures.directory(lab, id);
      yield* readCapture({ directory, state: async () => captures.get(await captured(path), id) }, follow, signal);
    },
  };
}

/** Returns the fabric's device of a node's interface. Throws node_not_found, or bad_request for an interface that the node does not have. */
export function portOf(
  definition: LabDefinition,
  { nodeId, interface: name }: Pick<CaptureRequest, "nodeId" | "interface">,
  catalogue: Catalogue,
): { readonly node: DefinedNode; readonly port: string } {
  const node = definition.nodes.find(({ id }) => String(id) === nodeId);
  if (node === undefined) throw new Failure("node_not_found", `the lab has no node with id ${nodeId}`);
  return { node, port: nodePort(node, name, catalogue) };
}

/** Returns the fabric's port of a node's interface. Throws bad_request if the node has no such interface. */
export function nodePort(node: DefinedNode, name: string, catalogue: Catalogue): string {
  const format = catalogue.template(node.template)?.ethFormat ?? "eth{0}";
  const index = interfaceNaming(format).index(name);
  if (index !== undefined && index < node.ethernet) return portName(node.id, index);
  const names = interfaceNames(format, node.ethernet);
  const message = `${node.name} has no interface ${name}; it has ${names.length === 0 ? "none" : names.slice(0, 8).join(", ")}`;
  throw new Failure("bad_request", message, { data: { problems: [{ path: "/interface", message }] } });
}
