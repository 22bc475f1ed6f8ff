import type { JobData } from "../../contract/schemas/jobs.ts";
import type { PlanAction } from "../../contract/schemas/plan.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";

/** Shows the steps of a job, which its result contains. */
export function JobSteps({ job: { job, status } }: { readonly job: JobData }) {
  const { data, error, again } = useAnswer((signal) => call("getJob", { id: job }, { signal }), [job, status]);
  if (data === undefined) return error === undefined ? <p class="hint">Reading the job…</p> : <Problem error={error} retry={again} />;
  const steps = stepsOf(data.result);
  if (steps.length === 0)
    return <p class="hint">{status === "running" ? "Its steps appear here when it has ended." : "The job has no list of steps."}</p>;
  return (
    <ol class="job-steps">
      {steps.map(({ id, op, kind, key, name, reason }) => (
        <li key={id}>
          {op} {kind} {name ?? key}
          {reason?.text !== undefined && <small> {reason.text}</small>}
        </li>
      ))}
    </ol>
  );
}

/** The result has the shape of its operation's answer: only some have steps. */
function stepsOf(result: unknown): readonly PlanAction[] {
  const { operations } = (result ?? {}) as { readonly operations?: readonly PlanAction[] };
  return operations ?? [];
}
