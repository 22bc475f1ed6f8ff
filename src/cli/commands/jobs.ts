import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { withHint } from "../command/with-hint.ts";
import { onlyLab, onlyLabFlags } from "../parts/only-lab.ts";
import { shortSteps, showJob, statusOf } from "../show/show-job.ts";
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
    const gone = "if it was destroyed: labwright jobs lists the changes of all labs, also of those that are gone";
    const lab = await onlyLab(context, args, client).catch(withHint("lab_not_found", gone));
    const data = await client.listJobs();
    const shown = { jobs: data.jobs.filter((job) => lab === undefined || job.lab === lab) };
    context.result(shown, ({ jobs: all }) =>
      all.length === 0
        ? "no jobs yet"
        : table(
            ["JOB", "LAB", "CHANGE", "USER", "STATUS", "STEPS", "STARTED"],
            all.map((job) => [job.job, job.lab, job.operation, job.user, statusOf(job), shortSteps(job), job.started_at]),
          ),
    );
    return 0;
  },
};
