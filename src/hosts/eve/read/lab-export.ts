import type { EveAccount } from "../account/account.ts";
import { hostError, readAnswer, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { withPlainNames } from "../lab-file/host-names.ts";
import { readUnl, type UnlLab, writeUnl } from "../lab-file/unl.ts";
import { readZip, writeZip } from "../lab-file/zip.ts";
import type { EveLabPath } from "./lab-path.ts";
import { withNodeConfigs } from "./pnetlab-lab.ts";

/** All users share one export at a time: a giant lab must not hold it longer, ms. */
const exportMs = 15_000;

/**
 * The lab's file, by export. The host takes the lab's id out of it; the caller knows it from the lab's head. null: the host cannot export
 * this lab (as seen with labs that were renamed).
 *
 * The archive's name on the host has a resolution of one second, so that someone else's export can take its place: the caller compares
 * what came with what the lab is known to have. Only one at a time per host.
 */
export async function exportLab(account: EveAccount, at: EveLabPath): Promise<UnlLab | null> {
  // A read in all that matters: it writes an archive aside and leaves the lab as it is.
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
    if (error instanceof SyntaxError) throw hostFailure(`the export of lab ${at.path} cannot be read: ${error.message}`);
    throw error;
  }
}

/** Puts the lab's file in its place, over the one that is there. The folder must be there. */
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
  const answer = await account.call({ method: "POST", path: "/api/import", body, contentType, read: false, timeoutMs: 300_000 });
  if (answer.code !== 80080) throw hostError(`import lab ${at.path}`, { ...answer, file: at.file });
}
