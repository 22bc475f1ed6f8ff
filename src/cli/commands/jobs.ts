import { LabwrightError } from "../../client/index.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { Command } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { onlyLab, onlyLabFlags } from "../parts/only-lab.ts";
import { changeName, shortSteps, showJob, statusOf } from "../show/show-job.ts";
import { table } from "../show/table.ts";

export const jobs: Command = {
  name: "jobs",
  summary: "List recent jobs (changes of labs), show one, or cancel a running one",
  operands: "[ID]",
  maxOperands: 1,
  flags: [...onlyLabFlags("Only jobs"), { long: "cancel", summary: "Cancel the job ID after its current step" }],
  example: "labwright jobs --lab /campus",
  run: async (context, args) => {
    const [id] = args.operands;
    const cancel = args.has("cancel");
    if (cancel && id === undefined) throw new UsageError("--cancel needs the id of a job", "labwright jobs lists them");
    const client = await context.client();
    if (id !== undefined) {
      context.result(cancel ? await client.cancelJob({ id }) : await client.getJob({ id }), (job) =>
        cancel ? `cancelling ${job.job}` : showJob(job),
      );
      return 0;
    }
    const lab = await onlyLab(context, args, client).catch((error: unknown) => pathOfGone(error, context));
    const data = await client.listJobs();
    const shown = { jobs: data.jobs.filter((job) => lab === undefined || job.lab === lab) };
    context.result(shown, ({ jobs: all }) =>
      all.length === 0
        ? "no jobs yet"
        : table(
            ["JOB", "LAB", "CHANGE", "USER", "STATUS", "STEPS", "STARTED"],
            all.map((job) => [job.job, job.lab, changeName(job.operation), job.user, statusOf(job), shortSteps(job), job.started_at]),
          ),
    );
    return 0;
  },
};

/** A destroyed lab, or one that a deploy did not finish, has jobs, too. Returns its path. Throws the error if it is not about such a lab. */
async function pathOfGone(error: unknown, context: Context): Promise<string> {
  if (!(error instanceof LabwrightError) || error.code !== "lab_not_found") throw error;
  const { file, selector } = await context.project();
  const name = selector.lab ?? (file === undefined ? undefined : readIntent(file.yaml, file.files).lab?.name);
  if (name === undefined) throw error;
  return name.startsWith("/") ? name : `/${name}`;
}
