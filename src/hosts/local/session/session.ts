import { Failure } from "../../../contract/errors.ts";
import type { Feature, HostConsole, HostSession, Progress } from "../../host.ts";
import type { LocalUser } from "../accounts/users.ts";
import { checkPcapFilter } from "../capture/pcap-filter.ts";
import { findDefinedLink, type LabDefinition } from "../definitions/definition.ts";
import { applySteps } from "../lab/apply.ts";
import { observedLab } from "../lab/observed-lab.ts";
import { tellingTrouble } from "../machine/machine-trouble.ts";
import { saveConfigs } from "../nodes/save-configs.ts";
import { savedConfigs } from "../nodes/saved-config.ts";
import { vmAttributeProblem } from "../templates/attribute-problem.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { type LinkContext, setLinkQuality, setLinkSuspend } from "./links.ts";
import { liveNodes } from "./live-nodes.ts";
import { localCaptures } from "./local-captures.ts";
import { localDisks } from "./local-disks.ts";
import type { LocalState } from "./local-state.ts";
import { localTraffic } from "./local-traffic.ts";
import { machineLoad } from "./machine-load.ts";
import { notRunning } from "./not-running.ts";
import { quarantineFor } from "./quarantine.ts";

/**
 * Returns the session of one user.
 * @param accounts returns all users of this host
 */
export function localSession(state: LocalState, { name, role }: LocalUser, accounts: () => Promise<readonly LocalUser[]>): HostSession {
  const { definitions, catalogue } = state;

  /** Hides other users' labs, so that their names do not leak. */
  async function seen(path: string): Promise<LabDefinition | undefined> {
    const definition = await definitions.get(path);
    return definition !== undefined && isMine(definition) ? definition : undefined;
  }

  function isMine({ owner }: LabDefinition): boolean {
    return role !== "user" || owner === name;
  }

  async function lab(path: string): Promise<LabDefinition> {
    const definition = await seen(path);
    if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
    return definition;
  }

  function ownerOf({ owner = name }: Progress): string {
    if (owner !== name && role !== "admin") throw new Failure("operation_not_allowed", "only an admin can create labs for other users");
    return owner;
  }

  function mayChange(): void {
    if (role === "viewer") throw new Failure("operation_not_allowed", "a viewer cannot change anything");
  }

  async function changing(path: string, feature: Feature): Promise<LinkContext> {
    const definition = await lab(path);
    const offered = await catalogue();
    if (!offered.features[feature]) throw new Failure("unsupported", `this host has no ${feature}`, { data: { feature } });
    if (definition.locked) throw new Failure("lab_locked", "the lab is locked");
    return { definition, definitions, catalogue: offered, live: state.lab(definition.id) };
  }

  return {
    user: name,
    role,
    capabilities: async () => ({ reachable: true, features: (await catalogue()).features, stopModes: [0, 1, 2, 3] }),
    templates: async () => (await catalogue()).templates,
    networkTypes: async () => (await catalogue()).networkTypes,
    icons: async () => (await catalogue()).icons,
    rules: async () => {
      const offered = await catalogue();
      return { ...offered.rules, freeMemory: await state.admission.room(offered) };
    },
    labs: async () => (await definitions.all()).filter(isMine).map(({ path }) => path),
    observe: async (path) => {
      const definition = await seen(path);
      if (definition === undefined) return null;
      const offered = await catalogue();
      const life = await state.lab(definition.id).seenLife(definition, offered);
      const saved = savedConfigs(definitions.directory(definition.id), definition, offered.template);
      return observedLab(definition, life, offered, saved);
    },
    findLink: async (path, ends) => findDefinedLink(await lab(path), ends),
    apply: (path, operations, progress) =>
      state.exclusive(path, async () => {
        mayChange();
        if ((await definitions.get(path)) !== undefined) await lab(path);
        const { admission, bootId, lab: live, forget, trash } = state;
        return applySteps(
          { path, user: ownerOf(progress), definitions, trash, catalogue: await catalogue(), admission, bootId, lab: live, forget },
          operations,
          progress,
        );
      }),
    status: async (path) => {
      const definition = await lab(path);
      const [nodes, links] = await Promise.all([liveNodes(state, definition, await catalogue()), state.lab(definition.id).liveQualities()]);
      return { nodes, links: [...links].map(([id, sides]) => ({ id: String(id), ...sides })) };
    },
    setLinkQuality: (path, linkId, quality, { save }) =>
      state.exclusive(path, async () => {
        mayChange();
        return setLinkQuality(await changing(path, "linkQuality"), linkId, quality, save);
      }),
    setLinkSuspend: (path, linkId, suspended) =>
      state.exclusive(path, async () => {
        mayChange();
        return setLinkSuspend(await changing(path, "linkSuspend"), linkId, suspended);
      }),
    checkAttribute: async (template, name, value) =>
      (await catalogue()).template(template)?.backend === "vm" ? vmAttributeProblem(name, value) : undefined,
    checkPcapFilter: async (filter) => checkPcapFilter((await catalogue()).images, filter, name),
    disks: localDisks(state, { name, role }),
    captures: localCaptures(state, { name, lab, mayChange }),
    traffic: localTraffic(state, { name, lab }, state.captures.tap),
    setOwner: (path, owner) =>
      state.exclusive(path, async () => {
        await lab(path);
        if (role !== "admin") throw new Failure("operation_not_allowed", "only an admin can give a lab to another user");
        await definitions.change(path, (definition) => ({ ...definition, owner }));
      }),
    quarantine: quarantineFor(state.quarantine, role === "admin"),
    users: async () => {
      if (role !== "admin") throw new Failure("operation_not_allowed", "only an admin can list the host's users");
      return (await tellingTrouble(accounts)).map((one) => ({ user: one.name, role: one.role }));
    },
    load: async () => machineLoad(state, await definitions.all(), definitions.directory("")),
    saveConfigs: (path, ids, signal) =>
      state.exclusive(path, async () => {
        mayChange();
        const definition = await lab(path);
        if (definition.locked) throw new Failure("lab_locked", "the lab is locked");
        const { sandbox } = state.lab(definition.id);
        return saveConfigs(
          { definition, directory: definitions.directory(definition.id), catalogue: await catalogue(), sandbox },
          ids,
          signal,
        );
      }),
    // Does not wait for an apply: the lock stops it before its next batch.
    setLock: async (path, locked) => {
      mayChange();
      await lab(path);
      await tellingTrouble(() => definitions.change(path, (definition) => ({ ...definition, locked })));
    },
    screens: async (path) => {
      const definition = await lab(path);
      const found = await state.lab(definition.id).screens(definition, await catalogue());
      return new Map([...found].map(([id, socket]) => [String(id), `unix:${socket}`]));
    },
    consoleLog: async (path, nodeId) => consoleLog(state, await lab(path), nodeId, await catalogue()),
    console: async (path, nodeId) => openConsole(state, await lab(path), nodeId, await catalogue()),
    close: async () => undefined,
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
      // Fails if the console has ended with its node, which needs no size any more.
      sandbox.resize(node.id, columns, rows).catch(() => undefined);
    },
  };
}
