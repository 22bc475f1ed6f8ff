import { createReadStream } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { DiskCopy, DiskTransfer, HostDiskTransfers } from "../../host-disks.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { tellingTrouble } from "../machine/machine-trouble.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { exportDisks, refuseFull } from "./export-disks.ts";
import { checkDeclared, checkReceived, receivedBytes, unpackDisks, writePart } from "./import-disks.ts";
import { type Transfer, type TransferStore, transferMs } from "./transfer-store.ts";

/** Parts of the embedded host. */
interface TransferParts {
  readonly transfers: TransferStore;
  readonly definitions: Definitions;
  readonly catalogue: () => Promise<Catalogue>;
  readonly lab: (id: string) => Pick<LocalLab, "life">;
  /** The image directory. */
  readonly images: string;
  readonly exclusive: <T>(path: string, work: () => Promise<T>) => Promise<T>;
}

/** The calls of a user that copy disks to and from other hosts. `lab` throws lab_not_found, `mayChange` operation_not_allowed. */
export function hostTransfers(
  state: TransferParts,
  user: { readonly name: string; readonly lab: (path: string) => Promise<LabDefinition>; readonly mayChange: () => void },
): HostDiskTransfers {
  const { transfers: store, definitions, catalogue, exclusive } = state;
  const { name } = user;

  const refuseExisting = async (path: string): Promise<void> => {
    if ((await definitions.get(path)) !== undefined)
      throw new Failure("lab_exists", `there is a lab ${path}: disks are for a new lab; destroy it, or upload them for another path`);
  };

  const found = async (
    id: string,
    direction: Transfer["direction"],
    node: string,
  ): Promise<{ readonly disk: DiskCopy; readonly file: string }> => {
    const { disks } = await store.get(name, id, direction);
    const index = disks.findIndex((disk) => disk.node === node);
    const disk = disks[index];
    if (disk === undefined) throw new Failure("disks_not_found", `transfer ${id} has no disk of node ${node}`);
    return { disk, file: store.file(id, index) };
  };

  return {
    find: async (id) => summary(await store.get(name, id)),
    exportLab: (path, reader) =>
      exclusive(path, async () => {
        user.mayChange();
        const definition = await user.lab(path);
        const offered = await catalogue();
        await refuseRunning(state, definition, offered);
        const { id, directory } = await store.begin(reader);
        const copied = { nodes: definition.nodes, directory: definitions.directory(definition.id), catalogue: offered };
        const disks = await orDrop(store, id, () => exportDisks(copied, directory));
        const transfer: Transfer = { version: 1, id, direction: "export", user: reader, lab: path, begun: Date.now(), disks };
        await store.keep(transfer);
        return { ...summary(transfer), disks };
      }),
    read: async (id, node, offset) => {
      const { disk, file } = await found(id, "export", node);
      if (offset > disk.bytes) throw new Failure("bad_request", `the disk of node ${node} has ${disk.bytes} bytes`);
      return createReadStream(file, { start: offset, highWaterMark: 1 << 18 });
    },
    importLab: (path, disks) =>
      tellingTrouble(async () => {
        user.mayChange();
        await refuseExisting(path);
        const same = (await store.of(name)).find((one) => one.direction === "import" && one.lab === path && sameDisks(one.disks, disks));
        const transfer = same ?? (await begun(state, { user: name, lab: path, disks }));
        const received = await Promise.all(
          transfer.disks.map(async ({ node }, index) => ({ node, bytes: await receivedBytes(store.file(transfer.id, index)) })),
        );
        return { ...summary(transfer), received };
      }),
    write: (id, node, offset, data) =>
      exclusive(`transfer ${id}`, async () => {
        user.mayChange();
        const { disk, file } = await found(id, "import", node);
        return writePart(file, disk, offset, data);
      }),
    finish: (id) =>
      exclusive(`transfer ${id}`, async () => {
        user.mayChange();
        const transfer = await store.get(name, id, "import");
        return exclusive(transfer.lab, async () => {
          await refuseExisting(transfer.lab);
          return keepUploaded(state, transfer);
        });
      }),
    drop: async (id) => {
      await store.get(name, id);
      await store.drop(id);
    },
  };
}

async function refuseRunning(state: TransferParts, definition: LabDefinition, catalogue: Catalogue): Promise<void> {
  const life = await state.lab(definition.id).life(definition, catalogue);
  const nodes = definition.nodes
    .filter(({ id }) => !["stopped", "failed", undefined].includes(life.get(id)?.power))
    .map(({ name }) => name);
  if (nodes.length === 0) return;
  const shown = nodes.slice(0, 8).join(", ");
  throw new Failure(
    "nodes_running",
    `disks are copied from stopped nodes: stop these, which run or hibernate: ${shown}${nodes.length > 8 ? ", …" : ""}`,
    {
      data: { nodes },
    },
  );
}

async function begun({ transfers, catalogue }: TransferParts, wanted: Pick<Transfer, "user" | "lab" | "disks">): Promise<Transfer> {
  const { id, directory } = await transfers.begin(wanted.user);
  return orDrop(transfers, id, async () => {
    await checkDeclared(wanted.disks, await catalogue(), directory);
    const transfer: Transfer = { version: 1, id, direction: "import", begun: Date.now(), ...wanted };
    await transfers.keep(transfer);
    return transfer;
  });
}

/** The kept lab appears with one rename, so that a crash leaves it whole or not at all. A disk that is refused ends the transfer. */
async function keepUploaded(state: TransferParts, transfer: Transfer): Promise<Awaited<ReturnType<HostDiskTransfers["finish"]>>> {
  const { transfers, definitions, catalogue, images } = state;
  const { id, lab, disks } = transfer;
  const file = (index: number) => transfers.file(id, index);
  await refuseFull(
    transfers.directory(id),
    disks.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  await checkReceived(transfer, file);
  return orDrop(transfers, id, async () => {
    const draft = join(transfers.directory(id), "lab");
    const { definition, note } = await unpackDisks(transfer, file, draft, { catalogue: await catalogue(), images });
    await rename(draft, definitions.directory(definition.id));
    await definitions.kept.open(definition.id);
    await transfers.drop(id);
    return { disks: definition.id, lab, nodes: disks.map(({ node }) => node), ...(note !== undefined && { note }) };
  });
}

async function orDrop<T>(store: TransferStore, id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await store.drop(id);
    throw error;
  }
}

function summary({ id, lab, begun }: Transfer): DiskTransfer {
  return { id, lab, expiresAt: begun + transferMs };
}

function sameDisks(some: readonly DiskCopy[], others: readonly DiskCopy[]): boolean {
  const keys = (disks: readonly DiskCopy[]) => disks.map(({ node, sha256, bytes }) => `${node} ${sha256} ${bytes}`).join("\n");
  return keys(some) === keys(others);
}
