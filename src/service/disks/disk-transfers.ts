import { Readable } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { BytesAnswer } from "../../contract/operations.ts";
import type {
  DiskExportData,
  DiskExportPayload,
  DiskImportData,
  DiskImportedData,
  DiskImportPayload,
  DiskPartData,
  DiskPartPayload,
  DiskReadQuery,
  DiskTransferRemovedData,
  TransferredDisk,
} from "../../contract/schemas/disks.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { DiskCopy, DiskTransfer, HostDiskTransfers } from "../../hosts/host-disks.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import type { Call, Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { timeText } from "../common/clock.ts";
import { badRequest, pathNotAvailable } from "../common/refusals.ts";
import { addressPath } from "../context/address.ts";
import type { LogPart, LookupParts, SessionsPart } from "../context/parts.ts";
import { reaches, refuseOutOfReach, rightOn } from "../sessions/rights.ts";

/** Maximum bytes of one part of an upload. */
const maxPartBytes = 8 * 1024 * 1024;

/** Copies the disks of a lab, which the caller may operate. */
export async function exportDisks(context: LookupParts & LogPart, caller: Caller, payload: DiskExportPayload): Promise<DiskExportData> {
  const { path, host } = await addressPath(context, caller, pathOf(payload.lab), "operate");
  const { disks, ...transfer } = await (await transfersOf(host)).exportLab(path, caller.user);
  context.log("info", "disks were copied for an export", { lab: path, user: caller.user, nodes: disks.length });
  return { ...transferData(transfer), disks: disks.map(diskData) };
}

/** Streams a disk of an export, until the session of the caller ends. */
export async function downloadDisk(
  { sessions }: SessionsPart,
  caller: Caller,
  { id, node, offset = "0" }: DiskReadQuery & { readonly id: string },
  { signal }: Call,
): Promise<BytesAnswer> {
  const transfers = await transfersOf(await sessions.hostSession(caller));
  await reached(transfers, caller, id);
  const body = Readable.from(await transfers.read(id, node, Number(offset)), { objectMode: false });
  const close = () => void body.destroy();
  body.once("close", sessions.onEnd(caller.session, close));
  // Runs even if the stream is never read.
  if (signal.aborted) close();
  else signal.addEventListener("abort", close, { once: true });
  return { mediaType: "application/x-tar", filename: `${node.replaceAll(/[^A-Za-z0-9._-]/g, "-")}.tar`, body };
}

/** Begins an upload of disks for a lab that does not exist. The caller will own their lab. */
export async function importDisks({ sessions, store }: LookupParts, caller: Caller, payload: DiskImportPayload): Promise<DiskImportData> {
  const path = pathOf(payload.lab);
  refuseOutOfReach(caller, path);
  const transfers = await transfersOf(await sessions.hostSession(caller));
  const record = store.labs.get(path);
  if (record !== undefined && rightOn(record, caller) === undefined) throw pathNotAvailable(path);
  const { received, ...transfer } = await transfers.importLab(path, payload.disks.map(copyOf));
  return { ...transferData(transfer), disks: received.map(({ node, bytes }) => ({ node, received_bytes: bytes })) };
}

export async function uploadDiskPart(
  { sessions }: SessionsPart,
  caller: Caller,
  id: string,
  { node, offset, base64 }: DiskPartPayload,
): Promise<DiskPartData> {
  const transfers = await transfersOf(await sessions.hostSession(caller));
  await reached(transfers, caller, id);
  const data = Buffer.from(base64, "base64");
  if (data.length > maxPartBytes) throw badRequest("/base64", `at most ${maxPartBytes} bytes at a time`);
  if (data.toString("base64").length !== base64.length) throw badRequest("/base64", "it is not base64");
  return { node, received_bytes: await transfers.write(id, node, offset, data) };
}

/** Keeps the uploaded disks for the next lab of the caller at their path. */
export async function finishDiskImport({ sessions, log }: SessionsPart & LogPart, caller: Caller, id: string): Promise<DiskImportedData> {
  const transfers = await transfersOf(await sessions.hostSession(caller));
  await reached(transfers, caller, id);
  const done = await transfers.finish(id);
  log("info", "uploaded disks are kept", { lab: done.lab, user: caller.user, nodes: done.nodes.length });
  return done;
}

export async function removeDiskTransfer({ sessions }: SessionsPart, caller: Caller, id: string): Promise<DiskTransferRemovedData> {
  const transfers = await transfersOf(await sessions.hostSession(caller));
  await reached(transfers, caller, id);
  await transfers.drop(id);
  return { transfer: id };
}

/** Throws disks_not_found, also for a lab that the caller's API token is not for. */
async function reached(transfers: HostDiskTransfers, caller: Caller, id: string): Promise<void> {
  const { lab } = await transfers.find(id);
  if (!reaches(caller, lab)) throw new Failure("disks_not_found", `there is no transfer ${id} of disks: it has ended, or its day is over`);
}

function pathOf(lab: string): string {
  const checked = checkLabPath(lab);
  if ("problem" in checked) throw badRequest("/lab", checked.problem);
  return checked.path;
}

function transferData({ id, lab, expiresAt }: DiskTransfer): Pick<DiskExportData, "transfer" | "lab" | "expires_at"> {
  return { transfer: id, lab, expires_at: timeText(expiresAt) };
}

function diskData({ bytes, ...disk }: DiskCopy): TransferredDisk {
  return { ...disk, size_bytes: bytes };
}

function copyOf({ size_bytes: bytes, ...disk }: TransferredDisk): DiskCopy {
  const { node, kind, template, image, kernel, base, sha256 } = disk;
  return { node, kind, template, base, sha256, bytes, ...(image !== undefined && { image }), ...(kernel !== undefined && { kernel }) };
}

/** Throws unsupported. */
async function transfersOf(host: HostSession): Promise<HostDiskTransfers> {
  if (host.disks === undefined || !(await host.capabilities()).features.keptDisks) throw unsupported("keptDisks");
  return host.disks.transfers;
}
