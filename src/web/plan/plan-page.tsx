import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Job, LabwrightError } from "../../client/browser.ts";
import type { DataOf } from "../../contract/operations.ts";
import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import type { Diagnostic } from "../../contract/schemas/project.ts";
import { call, changes } from "../api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { graphOf } from "../topology/graph.ts";
import { keptPlaces } from "../topology/kept-places.ts";
import { markWords, planMarks } from "../topology/plan-marks.ts";
import { Topology } from "../topology/topology.tsx";
import { DiffView } from "./diff-view.tsx";
import { JobProgress } from "./job-progress.tsx";
import { PlanList } from "./plan-list.tsx";
import type { Names, Schema } from "./suggestions.ts";
import { type YamlEditor, yamlEditor } from "./yaml-editor.ts";
import "./plan.css";

interface PlanPageProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly mayChange: boolean;
  readonly again: () => void;
}

/** The text of a lab, what applying it would do, and doing it. */
export default function PlanPage(props: PlanPageProps) {
  const { data, error, again } = useAnswer((signal) => readIntent(props.lab, props.mayChange, signal), [props.lab]);
  if (data === undefined) return error === undefined ? <p class="waiting">Reading the text…</p> : <Problem error={error} retry={again} />;
  return <PlanDesk {...props} intent={data.intent} mayChange={data.mayChange} />;
}

type PublicProject = DataOf<"getPublicProject">;

/** As it was written, for who may edit it; else without its secrets, to look at. */
async function readIntent(lab: string, mayChange: boolean, signal: AbortSignal): Promise<{ intent: PublicProject; mayChange: boolean }> {
  if (!mayChange) return { intent: await call("getPublicProject", { lab }, { signal }), mayChange };
  try {
    return { intent: await call("getPublicProject", { lab, as_written: true }, { signal }), mayChange: true };
  } catch (error) {
    if (!(error instanceof LabwrightError) || error.code !== "operation_not_allowed") throw error;
    return { intent: await call("getPublicProject", { lab }, { signal }), mayChange: false };
  }
}

/** A plan, and of what text. */
interface Made {
  readonly plan: PlanData;
  readonly text: string;
  readonly prune: boolean;
}

interface Running {
  readonly words: string;
  readonly job?: string;
  readonly steps: readonly Job[];
}

function PlanDesk({ lab, inspection, live, mayChange, again, intent }: PlanPageProps & { readonly intent: PublicProject }) {
  const [text, setText] = useState(intent.yaml);
  const [base, setBase] = useState(intent.yaml);
  const [files, setFiles] = useState(intent.files);
  const [prune, setPrune] = useState(false);
  const [made, setMade] = useState<Made>();
  const [running, setRunning] = useState<Running>();
  const [asking, setAsking] = useState<"stop" | "take">();
  const [taken, setTaken] = useState<{ readonly before: string; readonly after: string }>();
  const [told, setTold] = useState("");
  const [error, setError] = useState<unknown>();
  const place = useMemo(keptPlaces, []);
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<YamlEditor>(undefined);
  const latest = useRef({ files });
  latest.current = { files };

  useEffect(() => {
    const names = namesOnce();
    const made = yamlEditor(holder.current!, {
      text: intent.yaml,
      label: "The lab as YAML",
      readOnly: !mayChange,
      check: (yaml) => problemsOf(yaml, latest.current.files),
      names,
      onChange: setText,
    });
    editor.current = made;
    return () => made.close();
  }, []);
  useEffect(() => {
    if (text === base) return undefined;
    const stay = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", stay);
    return () => removeEventListener("beforeunload", stay);
  }, [text === base]);

  const run = async (words: string, work: () => Promise<string>) => {
    setRunning({ words, steps: [] });
    setError(undefined);
    setTold("");
    try {
      setTold(await work());
    } catch (problem) {
      setError(problem);
    }
    setRunning(undefined);
  };
  const planned = async (direction: "to_host" | "from_host"): Promise<PlanData> => {
    setTaken(undefined);
    const plan = await call("planProject", { lab, yaml: text, files, direction, ...(prune && { prune }) });
    setMade({ plan, text, prune });
    return plan;
  };
  const plan = () =>
    run("Comparing with the host…", async () => {
      await planned("to_host");
      return "";
    });
  const look = () =>
    run("Reading the host…", async () => {
      const { actions = [] } = await planned("from_host");
      if (actions.length > 0) return "";
      return "The host has nothing that the text does not say.";
    });
  /** A change as a job, told step by step. */
  const change = async (
    words: string,
    input: { readonly plan_identity?: string; readonly confirm?: true; readonly direction?: "from_host" },
  ) => {
    const { job } = await changes.startJob("reconcileProject", { lab, yaml: text, files, ...(prune && { prune }), ...input });
    setRunning({ words, job, steps: [] });
    const onProgress = (step: Job) => setRunning((now) => now && { ...now, steps: [...now.steps, step] });
    return await changes.waitForJob("reconcileProject", job, { onProgress });
  };
  const apply = (confirm: boolean) =>
    run(confirm ? "Applying…" : "Applying what disturbs no running node…", async () => {
      const identity = made?.plan.plan_identity;
      const result = await change(confirm ? "Applying" : "Applying what is safe", {
        ...(identity !== undefined && { plan_identity: identity }),
        ...(confirm && { confirm }),
      });
      setBase(text);
      again();
      if (result.status !== "pending_stop") {
        setMade(undefined);
        return result.status === "unchanged"
          ? "Nothing had to be done."
          : `Applied, ${result.applied} steps. The host is as the text says.`;
      }
      await planned("to_host");
      setAsking("stop");
      return "What disturbs nobody is applied. For the rest nodes must stop.";
    });
  const take = () =>
    run("Taking over…", async () => {
      const identity = made?.plan.plan_identity;
      const result = await change("Taking over", { direction: "from_host", ...(identity !== undefined && { plan_identity: identity }) });
      const after = result.yaml ?? text;
      setTaken({ before: text, after });
      setFiles(result.files ?? files);
      setBase(after);
      setMade(undefined);
      editor.current?.setText(after);
      return "The text now says what the host has.";
    });
  const cancel = async () => {
    if (running?.job === undefined) return;
    try {
      await call("cancelJob", { id: running.job });
    } catch (problem) {
      setError(problem);
    }
  };

  const shown = made?.plan;
  const fromHost = shown?.direction === "from_host";
  const actions = shown?.actions ?? [];
  const fresh = made !== undefined && made.text === text && made.prune === prune;
  const toDo = actions.length > 0 || (shown !== undefined && shown.exists === false);
  const graph = useMemo(() => graphOf(inspection, { actions: fromHost ? [] : actions, place }), [inspection, shown]);
  const marks = useMemo(() => [...new Set(planMarks(actions).values())].sort(), [shown]);
  const busy = running !== undefined;
  const stopping = actions.filter(({ disruption }) => disruption !== "none" && disruption !== "link").map(({ key }) => key);
  return (
    <div class="plan">
      <div class="plan-text">
        <div ref={holder} class="editor" />
        {Object.keys(files).length > 0 && <small>Files beside it: {Object.keys(files).sort().join(", ")}</small>}
      </div>
      <div class="plan-side">
        <div class="buttons">
          <button type="button" class={fresh ? "" : "primary"} disabled={busy} onClick={() => void plan()}>
            Plan
          </button>
          {mayChange && (
            <>
              <button
                type="button"
                class={fresh && toDo ? "primary" : ""}
                disabled={busy || !fresh || fromHost || !toDo || shown?.applicable !== true}
                onClick={() => void apply(false)}
              >
                Apply
              </button>
              <button type="button" disabled={busy} onClick={() => void look()}>
                Look at the host's changes
              </button>
              {fromHost && actions.length > 0 && (
                <button type="button" class="primary" disabled={busy || !fresh} onClick={() => setAsking("take")}>
                  Take them over…
                </button>
              )}
              <label class="choice">
                <input type="checkbox" checked={prune} onChange={(event) => setPrune(event.currentTarget.checked)} />
                Delete what the text does not have (prune)
              </label>
            </>
          )}
        </div>
        {running !== undefined && <JobProgress words={running.words} steps={running.steps} onCancel={running.job ? cancel : undefined} />}
        <output>{told}</output>
        {error !== undefined && <Problem error={error} {...(isStale(error) && { retry: () => void plan() })} />}
        {shown === undefined && taken === undefined && !busy && error === undefined && told === "" && (
          <p class="hint">
            Change the text, then press Plan: you see what applying it would do, line by line and in the picture, before anything happens.
            Ctrl+Space completes.
          </p>
        )}
        {made !== undefined && !fresh && <p class="mark warn">The text changed since this plan: plan again to apply.</p>}
        {shown !== undefined && (
          <>
            <h2>{fromHost ? "What the host has and the text has not" : "What applying does"}</h2>
            {shown.locked === true && <p class="mark warn">The lab is locked on its host: nothing can be applied.</p>}
            <PlanList plan={shown} onLine={(line) => editor.current?.goTo(line)} />
            {!fromHost && actions.length > 0 && (
              <>
                <ul class="legend">
                  {marks.map((mark) => (
                    <li key={mark} class={`plan-${mark}`}>
                      {markWords[mark]}
                    </li>
                  ))}
                </ul>
                <Topology graph={graph} live={live} selected={undefined} onSelect={() => undefined} />
              </>
            )}
          </>
        )}
        {taken !== undefined && <DiffView before={taken.before} after={taken.after} />}
      </div>
      {asking === "stop" && (
        <Confirm
          title="Nodes will stop"
          action="Stop them and apply"
          onCancel={() => setAsking(undefined)}
          onConfirm={() => {
            setAsking(undefined);
            void apply(true);
          }}
        >
          What disturbs nobody is applied. The rest stops {stopping.join(", ")}; what ran before is started again. What you agree to is the
          plan that is shown: if the lab changes meanwhile, nothing is done.
        </Confirm>
      )}
      {asking === "take" && (
        <Confirm
          title="Take the host's changes over?"
          action="Take over"
          onCancel={() => setAsking(undefined)}
          onConfirm={() => {
            setAsking(undefined);
            void take();
          }}
        >
          The text will say what the host has; comments and what did not change stay. The host is not touched.
        </Confirm>
      )}
    </div>
  );
}

async function problemsOf(yaml: string, files: Readonly<Record<string, string>>): Promise<readonly Diagnostic[]> {
  try {
    return (await call("validateProject", { yaml, files })).warnings ?? [];
  } catch (error) {
    if (error instanceof LabwrightError && error.code === "invalid_intent")
      return (error.data?.["diagnostics"] ?? []) as readonly Diagnostic[];
    const message = error instanceof Error ? error.message : String(error);
    return [
      {
        severity: "warning",
        code: "unchecked",
        message: `not checked: ${message}`,
        path: "",
        line: 1,
        column: 1,
        end_line: 1,
        end_column: 1,
      },
    ];
  }
}

/** The schema and the host's templates, read when first wanted. Without either there is just less to complete. */
function namesOnce(): () => Promise<Names> {
  let names: Promise<Names> | undefined;
  const read = async (): Promise<Names> => {
    const [answer, { templates }] = await Promise.all([fetch("/ui/lab.schema.json"), call("listTemplates", { provisioned: "true" })]);
    if (!answer.ok) throw new Error(`the schema of labs: HTTP status ${answer.status}`);
    return { schema: (await answer.json()) as Schema, templates: (templates ?? []).map(({ id }) => id) };
  };
  return () => {
    names ??= read().catch((error: unknown) => {
      names = undefined;
      throw error;
    });
    return names;
  };
}

function isStale(error: unknown): boolean {
  return error instanceof LabwrightError && error.code === "plan_stale";
}
