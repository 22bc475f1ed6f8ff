import { Failure } from "../../../contract/errors.ts";
import { readZip, writeZip } from "../../../files/zip/zip.ts";
import { unreadableLab } from "../../host-unreadable.ts";
import type { EveAccount } from "../account/account.ts";
import { hostError, readAnswer, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { withPlainNames } from "../lab-file/host-names.ts";
import { readUnl, type UnlLab, writeUnl } from "../lab-file/unl.ts";
import type { EveLabPath } from "./lab-path.ts";
import { withNodeConfigs } from "./pnetlab-lab.ts";

/** All users share one export at a time: a giant lab must not hold it longer, ms. */
const exportMs = 15_000;

/**
 * Exports the lab's file. The host removes the lab's id from it; the caller knows the id from the lab's head. Returns `null` if the host cannot
 * export this lab, as seen with renamed labs.
 *
 * The archive's name on the host has a resolution of one second, so that another user's export can replace it: the caller must compare the result
 * with the known data of the lab. Runs one export at a time per host.
 */
export async function exportLab(account: EveAccount, at: EveLabPath): Promise<UnlLab | null> {
  // Counts as a read: it writes a separate archive and does not change the lab.
  const answer = await account.call({
    method: "POST",
    path: "/api/export",
    body: { 0: at.file, path: at.folder },
    read: true,
    timeoutMs: exportMs,
  });
  if (answer.code === 15 || answer.code === 80073 || answer.code === 80074) return null;
  const archive = textOf(answer.data);
  if (answer.code !== 80075 || archive === undefined || !archive.startsWith("/")) throw hostError(`export lab ${at.path}`, answer);
  const file = await account.send({ path: archive.split("/").map(encodeURIComponent).join("/"), read: true, timeoutMs: exportMs });
  if (file.status !== 200) throw hostError(`fetch the export of lab ${at.path}`, readAnswer(file));
  try {
    const entry = readZip(file.body).find(({ name }) => name === `${at.name}.unl` || name.endsWith(`/${at.name}.unl`));
    return entry === undefined ? null : withPlainNames(withNodeConfigs(readUnl(Buffer.from(entry.data).toString("utf8"))));
  } catch (error) {
    if (error instanceof Failure && error.code === "host_error") {
      const message = `lab ${at.path}: ${error.message}. Correct its file ${at.file} on the host, or destroy the lab`;
      throw unreadableLab(message, { message: error.message });
    }
    if (error instanceof SyntaxError) throw hostFailure(`the export of lab ${at.path} cannot be read: ${error.message}`);
    throw error;
  }
}

/** Writes the lab's file, replacing an existing one. The folder must exist. */
export async function importLab(account: EveAccount, at: EveLabPath, lab: UnlLab): Promise<void> {
  const archive = writeZip([{ name: `${at.name}.unl`, data: Buffer.from(writeUnl(lab), "utf8") }]);
  const boundary = `labwright-${crypto.randomUUID()}`;
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="path"\r\n\r\n${at.folder}\r\n` +
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${at.name.replaceAll(" ", "_")}.zip"\r\n` +
        "Content-Type: application/zip\r\n\r\n",
    ),
    archive,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const configs = lab.configs.map(({ text }) => text);
  const answer = await account.call({ method: "POST", path: "/api/import", body, contentType, configs, read: false, timeoutMs: 300_000 });
  if (answer.code !== 80080) throw hostError(`import lab ${at.path}`, { ...answer, file: at.file });
}
