import { interfaceNaming } from "../../../base/names/interface-names.ts";
import type { HostSession } from "../../host.ts";
import type { LocalUser } from "../accounts/users.ts";
import { applySteps } from "../apply/apply-steps.ts";
import { checkBinds } from "../binds/check-binds.ts";
import { checkPcapFilter } from "../capture/pcap-filter.ts";
import { findDefinedLink, type LabDefinition, linkedNames } from "../definitions/definition.ts";
import { observedLab } from "../lab/observed-lab.ts";
import { tellingTrouble } from "../machine/machine-trouble.ts";
import { saveConfigs } from "../nodes/save-configs.ts";
import { savedConfigs } from "../nodes/saved-config.ts";
import { fetchMissing } from "../peers/fetch-missing.ts";
import { fetchable, imagesOfPeers } from "../peers/peer-images.ts";
import { checkPorts } from "../reach/check-ports.ts";
import type { InterfaceAddresses } from "../reach/interface-addresses.ts";
import { fetchImages, imageRules, imageTemplates } from "../registries/user-images.ts";
import { vmAttributeProblem } from "../templates/attribute-problem.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { hostTransfers } from "../transfers/host-transfers.ts";
import { checkConfigs } from "./check-configs.ts";
import { setLinkQuality, setLinkSuspend } from "./links.ts";
import { liveNodes } from "./live-nodes.ts";
import { localCaptures } from "./local-captures.ts";
import { consoleCalls } from "./local-consoles.ts";
import { localDisks } from "./local-disks.ts";
import { localProcesses } from "./local-processes.ts";
import type { LocalState } from "./local-state.ts";
import { localSwitches } from "./local-switches.ts";
import { localTraffic } from "./local-traffic.ts";
import { machineLoad } from "./machine-load.ts";
import { quarantineFor } from "./quarantine.ts";
import { type UserLabs, userLabs } from "./user-labs.ts";

/**
 * Returns the session of one user.
 * @param accounts returns all users of this host
 */
export function localSession(state: LocalState, user: LocalUser, accounts: () => Promise<readonly LocalUser[]>): HostSession {
  const labs = userLabs(state, user);
  const { name, role } = user;
  return {
    user: name,
    role,
    ...hostCalls(state, labs, accounts),
    ...readCalls(state, labs),
    ...changeCalls(state, labs),
    ...linkCalls(state, labs),
    ...consoleCalls(state, labs),
    disks: localDisks(state, { name, role }, hostTransfers(state, labs)),
    captures: localCaptures(state, labs),
    traffic: localTraffic(state, labs, state.captures.tap),
    processes: localProcesses(state, labs),
    switches: localSwitches(state, labs.lab),
    quarantine: quarantineFor(state.quarantine, role === "admin"),
    close: async () => undefined,
  };
}

type HostCalls =
  | "capabilities"
  | "templates"
  | "networkTypes"
  | "icons"
  | "rules"
  | "fetchImages"
  | "imagesOfPeers"
  | "checkAttribute"
  | "checkPcapFilter"
  | "checkConfigs"
  | "checkPorts"
  | "checkBinds"
  | "users"
  | "load";

/** The calls that need no lab. */
function hostCalls(
  state: LocalState,
  labs: UserLabs,
  accounts: () => Promise<readonly LocalUser[]>,
): Required<Pick<HostSession, HostCalls>> {
  const { definitions, catalogue } = state;
  const { name, role, mayChange, refuseUnlessAdmin } = labs;
  const user = { name, role };
  return {
    capabilities: async () => ({ reachable: true, features: (await catalogue()).features, stopModes: [0, 1, 2, 3] }),
    templates: async () => imageTemplates(state.directory, await catalogue(), user),
    networkTypes: async () => (await catalogue()).networkTypes,
    icons: async () => (await catalogue()).icons,
    rules: async () => {
      const offered = await catalogue();
      const others = fetchable(state.peers.current, user);
      return { ...(await imageRules(state.directory, offered, user, others)), freeMemory: await state.admission.room(offered) };
    },
    imagesOfPeers: async (images) =>
      imagesOfPeers(images, await catalogue(), state.peers.current, user).map(({ wanted, holders: [{ machine, bytes }] }) => ({
        image: wanted.image,
        machine: machine.name,
        bytes,
      })),
    fetchImages: async (images, progress) => {
      mayChange();
      const { directory, pulls } = state;
      await tellingTrouble(async () => {
        await fetchMissing(state, user, images, progress);
        await fetchImages({ state: directory, pulls, catalogue }, user, images, progress);
      });
    },
    checkAttribute: async (template, attribute, value) =>
      (await catalogue()).template(template)?.backend === "vm" ? vmAttributeProblem(attribute, value) : undefined,
    checkPcapFilter: async (filter) => checkPcapFilter((await catalogue()).images, filter, name),
    checkConfigs: async (configs) => checkConfigs(await catalogue(), configs, name),
    checkPorts: async (path, nodes) => checkPorts(state.ports, user, await labs.seen(path), nodes),
    checkBinds: async (path, nodes) => checkBinds(state.binds, user, await labs.seen(path), nodes),
    users: async () => {
      refuseUnlessAdmin("only an admin can list the host's users");
      return (await tellingTrouble(accounts)).map((one) => ({ user: one.name, role: one.role }));
    },
    load: async () => machineLoad(state, await definitions.all(), definitions.directory("")),
  };
}

/** Returns a node's addresses by the names that its links use, if those differ from the names of the kernel. */
function asLinked(
  { nodes }: LabDefinition,
  id: number,
  linked: ReadonlyMap<number, string> | undefined,
  { interfaces, catalogue }: { readonly interfaces: InterfaceAddresses; readonly catalogue: Catalogue },
): InterfaceAddresses {
  const format = catalogue.template(nodes.find((node) => node.id === id)?.template ?? "")?.ethFormat;
  if (linked === undefined || format === undefined) return interfaces;
  const naming = interfaceNaming(format);
  return new Map([...interfaces].map(([name, addresses]) => [linked.get(naming.index(name) ?? -1) ?? name, addresses]));
}

function readCalls(
  state: LocalState,
  { isMine, seen, lab }: UserLabs,
): Required<Pick<HostSession, "labs" | "observe" | "findLink" | "status" | "addresses">> {
  const { definitions, catalogue } = state;
  return {
    labs: async () => (await definitions.all()).filter(isMine).map(({ path }) => path),
    observe: async (path) => {
      const definition = await seen(path);
      if (definition === undefined) return null;
      const offered = await catalogue();
      const life = await state.lab(definition.id).seenLife(definition, offered);
      const saved = savedConfigs(definitions.directory(definition.id), definition, offered.template);
      return observedLab(definition, life, offered, saved);
    },
    addresses: async (path) => {
      const definition = await lab(path);
      const offered = await catalogue();
      const found = await state.lab(definition.id).addresses(definition, offered);
      const linked = linkedNames(definition, offered);
      return new Map(
        [...found].map(([id, interfaces]) => [String(id), asLinked(definition, id, linked.get(id), { interfaces, catalogue: offered })]),
      );
    },
    findLink: async (path, ends) => findDefinedLink(await lab(path), ends),
    status: async (path) => {
      const definition = await lab(path);
      const [nodes, links] = await Promise.all([liveNodes(state, definition, await catalogue()), state.lab(definition.id).liveQualities()]);
      return { nodes, links: [...links].map(([id, sides]) => ({ id: String(id), ...sides })) };
    },
  };
}

function changeCalls(
  state: LocalState,
  { lab, unlocked, mayChange, ownerOf, refuseUnlessAdmin }: UserLabs,
): Required<Pick<HostSession, "apply" | "setOwner" | "saveConfigs" | "setLock">> {
  const { definitions, catalogue } = state;
  return {
    apply: (path, operations, progress) =>
      state.exclusive(path, async () => {
        mayChange();
        if ((await definitions.get(path)) !== undefined) await lab(path);
        const { admission, binds, bootId, lab: live, forget, trash, readiness } = state;
        return applySteps(
          {
            path,
            user: ownerOf(progress),
            definitions,
            trash,
            catalogue: await catalogue(),
            admission,
            binds,
            bootId,
            lab: live,
            forget,
            readiness,
            refuseUnlessAdmin,
          },
          operations,
          progress,
        );
      }),
    setOwner: (path, owner) =>
      state.exclusive(path, async () => {
        await lab(path);
        refuseUnlessAdmin("only an admin can give a lab to another user");
        await definitions.change(path, (definition) => ({ ...definition, owner }));
        const after = await lab(path);
        await state.lab(after.id).renewNames(after);
      }),
    saveConfigs: (path, ids, signal) =>
      state.exclusive(path, async () => {
        mayChange();
        const definition = await unlocked(path);
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
  };
}

function linkCalls(state: LocalState, { mayChange, linksOf }: UserLabs): Required<Pick<HostSession, "setLinkQuality" | "setLinkSuspend">> {
  return {
    setLinkQuality: (path, linkId, quality, { save }) =>
      state.exclusive(path, async () => {
        mayChange();
        return setLinkQuality(await linksOf(path, "linkQuality"), linkId, quality, save);
      }),
    setLinkSuspend: (path, linkId, suspended) =>
      state.exclusive(path, async () => {
        mayChange();
        return setLinkSuspend(await linksOf(path, "linkSuspend"), linkId, suspended);
      }),
  };
}
