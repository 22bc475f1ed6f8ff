import { parallel } from "../../../base/parallel.ts";
import type { EveAccount } from "../account/account.ts";
import type { EveEdition } from "../account/edition.ts";
import { entriesOf, hostError, listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { plainNetworkName } from "../lab-file/host-names.ts";
import {
  refuseLongConfigs,
  type UnlConfig,
  type UnlInterface,
  type UnlLab,
  type UnlNetwork,
  type UnlNode,
  type UnlTextObject,
} from "../lab-file/unl.ts";
import { nodeAttributes } from "../lab-file/unl-attributes.ts";
import type { EveLabPath } from "./lab-path.ts";
import { mustReadHead, type NodeStatus, readNodes } from "./lab-read.ts";

const width = 6;

/**
 * Reads the lab by single calls, in the format of its file: for Professional, whose files may contain unknown parts, and for labs that the host does
 * not export. Does not read pictures and the look of links: the lab is partial.
 */
export async function readByCalls(
  account: EveAccount,
  edition: EveEdition,
  at: EveLabPath,
  known?: readonly NodeStatus[],
): Promise<UnlLab> {
  const base = `/api/labs${at.url}`;
  const [head, statuses, networks, texts, configs] = await Promise.all([
    mustReadHead(account, at),
    known ?? readNodes(account, at),
    account.get(`${base}/networks`, `list the networks of ${at.path}`),
    account.get(`${base}/textobjects`, `list the texts of ${at.path}`),
    readConfigs(account, edition, base),
  ]);
  const [nodes, textObjects] = await Promise.all([
    parallel(statuses, width, (status) => readNode(account, base, status)),
    parallel(listOf(texts, `list the texts of ${at.path}`), width, ([key, value]) =>
      readTextObject(account, base, numberOf(recordOf(value).id) ?? Number(key)),
    ),
  ]);
  const { description, author, body, version, scripttimeout } = head;
  const lab = {
    isPartial: true,
    name: at.name,
    ...(version !== undefined && { version }),
    ...(scripttimeout !== undefined && { scripttimeout }),
    ...(author !== "" && { author }),
    ...(description !== "" && { description }),
    ...(body !== "" && { body }),
    nodes,
    networks: listOf(networks, `list the networks of ${at.path}`).map(([key, value]) => readNetwork(Number(key), recordOf(value))),
    textObjects: textObjects.filter((one) => one !== undefined),
    pictures: [],
    configs,
  };
  return edition.quality === "topology" ? withQuality(account, base, lab) : lab;
}

async function readNode(account: EveAccount, base: string, status: NodeStatus): Promise<UnlNode> {
  const { id, data: listed } = status;
  // The list of nodes does not contain the options of QEMU.
  const one = listed.type === "qemu" ? recordOf(await account.get(`${base}/nodes/${id}`, `read node ${status.name}`)) : {};
  const interfaces = recordOf(await account.get(`${base}/nodes/${id}/interfaces`, `list the interfaces of node ${status.name}`));
  const data = { ...listed, ...one };
  const slots = Object.entries(data).flatMap(([name, value]) => {
    const slot = /^slot(\d+)$/.exec(name)?.[1];
    const module = textOf(value);
    return slot === undefined || module === undefined || module === "" ? [] : [{ id: Number(slot), module }];
  });
  return {
    ...known(data, nodeAttributes),
    id,
    ...(slots.length > 0 && { slots }),
    interfaces: [...ends(interfaces.ethernet, "ethernet"), ...ends(interfaces.serial, "serial")].sort((a, b) => a.id - b.id),
  };
}

function ends(listed: unknown, type: "ethernet" | "serial"): readonly UnlInterface[] {
  return entriesOf(listed).flatMap(([key, value]): readonly UnlInterface[] => {
    const one = recordOf(value);
    const base = { id: Number(key), name: textOf(one.name) ?? "", type };
    const network = numberOf(one.network_id) ?? 0;
    const remote = numberOf(one.remote_id) ?? 0;
    if (type === "ethernet") return network > 0 ? [{ ...base, network_id: network }] : [];
    return remote > 0 ? [{ ...base, remote_id: remote, remote_if: numberOf(one.remote_if) ?? 0 }] : [];
  });
}

function readNetwork(key: number, data: Readonly<Record<string, unknown>>): UnlNetwork {
  const [left, top, icon] = [numberOf(data.left), numberOf(data.top), textOf(data.icon)];
  return {
    id: numberOf(data.id) ?? key,
    type: textOf(data.type) ?? "bridge",
    name: plainNetworkName(textOf(data.name) ?? ""),
    ...(left !== undefined && { left }),
    ...(top !== undefined && { top }),
    visibility: numberOf(data.visibility) ?? 0,
    ...(icon !== undefined && { icon }),
  };
}

async function readTextObject(account: EveAccount, base: string, id: number): Promise<UnlTextObject | undefined> {
  const answer = await account.call({ path: `${base}/textobjects/${id}`, read: true });
  if (answer.status === 404) return undefined;
  if (answer.status >= 300) throw hostError(`read text ${id}`, answer);
  const { name, type, data } = recordOf(answer.data);
  return { id, name: textOf(name) ?? "", type: textOf(type) ?? "", data: textOf(data) ?? "" };
}

/** More than the longest startup config that is read: JSON escapes its line ends. */
const maxConfigBytes = 8 * 1024 * 1024;

async function readConfigs(account: EveAccount, edition: EveEdition, base: string): Promise<readonly UnlConfig[]> {
  const set = edition.configSet === undefined ? {} : { method: "POST" as const, body: { cfsid: edition.configSet } };
  const list = await account.call({ ...set, path: `${base}/configs`, read: true });
  if (list.status >= 300) throw hostError("list the startup configs", list);
  const filled = entriesOf(list.data).filter(([, value]) => {
    const { len, config } = recordOf(value);
    return (numberOf(len) ?? 1) > 0 || numberOf(config) === 1;
  });
  const configs = await parallel(filled, width, async ([id]) => {
    const one = await account.call({ ...set, path: `${base}/configs/${id}`, read: true, maxBytes: maxConfigBytes });
    // 60058: this template has no script for configs.
    if (one.code === 60058) return undefined;
    if (one.status >= 300) throw hostError(`read the startup config of node ${id}`, one);
    return { id: Number(id), text: textOf(recordOf(one.data).data) ?? "" };
  });
  const found = configs.filter((one) => one !== undefined && one.text !== "") as readonly UnlConfig[];
  refuseLongConfigs(found.map(({ text }) => Math.ceil(text.length / 3) * 4));
  return found;
}

const qualityWords = ["delay", "jitter", "loss", "bandwidth"] as const;

/** Returns the impairment of packets that leave an interface, stored at that interface as source_delay and so on. */
async function withQuality(account: EveAccount, base: string, lab: UnlLab): Promise<UnlLab> {
  const topology = await account.get(`${base}/topology`, "read the topology");
  const found = new Map<string, Record<string, number>>();
  for (const [, value] of entriesOf(topology)) {
    const row = recordOf(value);
    for (const side of ["source", "destination"] as const) {
      const node = /^node(\d+)$/.exec(textOf(row[side]) ?? "")?.[1];
      if (node === undefined) continue;
      const of = lab.nodes.find(({ id }) => id === Number(node));
      const id = numberOf(row[`${side}_interfaceId`]) ?? of?.interfaces.find(({ name }) => name === textOf(row[`${side}_label`]))?.id;
      const effect = Object.fromEntries(
        qualityWords.flatMap((word) => {
          const number = numberOf(row[`${side}_${word}`]) ?? 0;
          return number === 0 ? [] : [[`source_${word}`, number]];
        }),
      );
      if (id !== undefined && Object.keys(effect).length > 0) found.set(`${node} ${id}`, effect);
    }
  }
  if (found.size === 0) return lab;
  const nodes = lab.nodes.map((node) => ({
    ...node,
    interfaces: node.interfaces.map((one) => ({ ...one, ...found.get(`${node.id} ${one.id}`) })),
  }));
  return { ...lab, nodes };
}

function known(
  data: Readonly<Record<string, unknown>>,
  table: Readonly<Record<string, "integer" | "text">>,
): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, kind]) => {
      const value = kind === "integer" ? numberOf(data[name]) : textOf(data[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
