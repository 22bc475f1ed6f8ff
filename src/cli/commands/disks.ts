import type { ResultOf } from "../../client/index.ts";
import { ArchiveError } from "../../files/tar/archive-error.ts";
import { readDiskArchive } from "../archive/disk-archive.ts";
import { uploadDisks } from "../archive/upload-disks.ts";
import { approve } from "../command/ask.ts";
import { type Command, type ExitCode, labFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { Progress } from "../show/progress.ts";
import { bytes, table } from "../show/table.ts";

type Kept = ResultOf<"listDisks">["disks"][number];

export const disks: Command = {
  name: "disks",
  summary: "List or remove disks that destroy --no-wipe has kept, or upload those of an archive",
  details:
    "Kept disks belong to the owner of their lab. The owner gets them back by deploying a lab at the same path with nodes of the same names.\n" +
    "Admins see and remove the disks of all users. --import keeps the disks of an archive of labwright export --with disks in the same way; run it again\n" +
    "to continue an upload that was interrupted.",
  flags: [
    { long: "remove", value: "ID", multiple: true, summary: "Remove these disks; repeatable, or a comma list" },
    { long: "import", value: "FILE", completes: "file", summary: "Upload the disks of this archive, before the first deploy of its lab" },
    { ...labFlag, summary: "The path of the lab for --import; default: the name of the archive's lab" },
    yesFlag,
  ],
  example: "labwright disks",
  run: async (context, args) => {
    const archive = args.text("import");
    if (archive !== undefined) return importDisks(context, archive, args.text("lab"));
    if (args.has("lab")) throw new UsageError("--lab needs --import");
    const wanted = args.list("remove");
    const client = await context.client();
    const data = await client.listDisks();
    if (wanted.length === 0) {
      context.result(data, ({ disks: all }) => (all.length === 0 ? "no disks are kept" : tableOf(all)));
      return 0;
    }
    const chosen = wanted.map((id) => {
      const found = data.disks.find((kept) => kept.disks === id);
      if (found === undefined) throw new UsageError(`there are no kept disks ${id}`, "labwright disks lists them");
      return found;
    });
    const question = `Remove the disks of ${chosen.map(({ lab, owner }) => `${lab} (${owner})`).join(", ")} permanently?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    for (const { disks: id } of chosen) await client.removeDisks({ id });
    context.result({ disks: chosen.map(({ disks: id }) => id) }, ({ disks: gone }) => `removed ${gone.join(", ")}`);
    return 0;
  },
};

async function importDisks(context: Context, archive: string, path: string | undefined): Promise<ExitCode> {
  const read = await readDiskArchive(archive).catch((error: unknown) => {
    if (error instanceof ArchiveError) throw new UsageError(`${archive}: ${error.message}`, error.hint);
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new UsageError(`there is no file ${archive}`);
    throw fileFailure(error, archive);
  });
  if (read === undefined || read.lab.disks.length === 0)
    throw new UsageError(`${archive} is not an archive with disks`, "labwright export --format archive --with disks makes one");
  const { lab, manifest } = read;
  const size = lab.disks.reduce((sum, disk) => sum + (manifest.files[disk.path]?.bytes ?? 0), 0);
  context.terminal.note(`disks of ${lab.disks.map(({ node }) => node).join(", ")}: ${bytes(size)}`);
  const client = await context.client();
  const target = { archive, manifest, lab: path ?? `/${lab.name}` };
  using progress = new Progress(context.terminal, "uploading", { quiet: context.quiet });
  const done = await uploadDisks(client, target, (have) => progress.update(`uploaded ${bytes(have)} of ${bytes(size)}`));
  progress[Symbol.dispose]();
  if (done.note !== undefined) context.terminal.complain(done.note);
  context.result(done, ({ disks: id, lab: at }) => `kept ${id}: the next lab of yours at ${at} has the disks`);
  return 0;
}

function tableOf(all: readonly Kept[]): string {
  const rows = all.map(({ disks: id, lab, owner, nodes, size_bytes: size, kept_at: at }) => [
    id,
    lab,
    owner,
    nodes.map(({ node }) => node).join(", "),
    bytes(size),
    at,
  ]);
  return table(["DISKS", "LAB", "OWNER", "NODES", "SIZE", "KEPT"], rows);
}
