import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Job, LabwrightError } from "../../client/browser.ts";
import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanAction, PlanData } from "../../contract/schemas/plan.ts";
import { call, changes } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { graphOf } from "../topology/graph/graph.ts";
import { keptPlaces } from "../topology/layout/cached-layout.ts";
import { markWords, planMarks } from "../topology/graph/plan-marks.ts";
import { Topology } from "../topology/topology.tsx";
import { keepDraft, readDraft } from "../intent/drafts.ts";
import { namesOnce, problemsOf } from "./editor/editor-help.ts";
import { IntentDiff, type IntentText, sameIntent } from "../intent/intent-diff.tsx";
import { JobProgress } from "./job-progress.tsx";
import { NewerIntent } from "./newer-intent.tsx";
import { useOtherChange } from "./use-other-change.ts";
import { PlanList } from "./plan-list.tsx";
import { readIntent } from "../intent/read-intent.ts";
import { SideFiles } from "./side-files.tsx";
import { StopQuestion } from "./stop-question.tsx";
import { type YamlEditor, yamlEditor } from "./editor/yaml-editor.ts";
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

/** A plan, and of what. */
interface Made {
  readonly plan: PlanData;
  readonly of: IntentText;
  readonly prune: boolean;
  readonly allow: boolean;
}

interface Running {
  readonly words: string;
  readonly job?: string;
  readonly now?: Job;
  /** Of the plan that runs. */
  readonly operations?: readonly PlanAction[];
}

interface Told {
  readonly text: string;
  /** It needs a person's eye. */
  readonly warn?: boolean;
}

function PlanDesk({ lab, inspection, live, mayChange, again, intent }: PlanPageProps & { readonly intent: IntentText }) {
  const draft = useMemo(() => (mayChange ? readDraft(lab) : undefined), []);
  const [text, setText] = useState(draft?.mine.yaml ?? intent.yaml);
  const [files, setFiles] = useState(draft?.mine.files ?? intent.files);
  /** What the service has. */
  const [base, setBase] = useState<IntentText>(draft?.base ?? { yaml: intent.yaml, files: intent.files });
  const [newer, setNewer] = useState<IntentText>();
  const [prune, setPrune] = useState(false);
  /** Apply the rest where the host does not support something. */
  const [allow, setAllow] = useState(false);
  const [made, setMade] = useState<Made>();
  const [running, setRunning] = useState<Running>();
  const [asking, setAsking] = useState<"stop" | "take">();
  const [taken, setTaken] = useState<{ readonly before: IntentText; readonly after: IntentText }>();
  const [told, setTold] = useState<Told>({
    text: draft === undefined ? "" : "Your text from before is here again; it is not applied yet.",
  });
  const [error, setError] = useState<unknown>();
  const place = useMemo(keptPlaces, []);
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<YamlEditor>(undefined);
  const mine: IntentText = { yaml: text, files };
  const changed = !sameIntent(mine, base);
  const busy = running !== undefined;
  const latest = useRef({ mine, base, busy });
  latest.current = { mine, base, busy };
  const other = useOtherChange(lab, running?.job);

  useEffect(() => {
    const opened = yamlEditor(holder.current!, {
      text: draft?.mine.yaml ?? intent.yaml,
      label: "The lab as YAML",
      readOnly: !mayChange,
      check: (yaml) => problemsOf(yaml, latest.current.mine.files),
      names: namesOnce(),
      onChange: setText,
    });
    editor.current = opened;
    return () => opened.close();
  }, []);
  useEffect(() => editor.current?.recheck(), [files]);
  useEffect(() => {
    if (mayChange) keepDraft(lab, changed ? { mine, base } : undefined);
  }, [text, files, base]);
  useEffect(() => {
    if (!changed) return undefined;
    const stay = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", stay);
    return () => removeEventListener("beforeunload", stay);
  }, [changed]);

  const show = (next: IntentText) => {
    setFiles(next.files);
    setBase(next);
    setNewer(undefined);
    if (next.yaml !== latest.current.mine.yaml) editor.current?.setText(next.yaml);
  };
  /** Others change the text, too: by links and places in the picture, and at other desks. */
  const look = async () => {
    if (latest.current.busy) return;
    const { intent: now } = await readIntent(lab, mayChange);
    if (latest.current.busy || sameIntent(now, latest.current.base)) return;
    const theirs: IntentText = { yaml: now.yaml, files: now.files };
    if (sameIntent(theirs, latest.current.mine)) setBase(theirs);
    else if (!sameIntent(latest.current.mine, latest.current.base)) setNewer(theirs);
    else {
      show(theirs);
      setTold({ text: "The text was changed elsewhere; this is how it stands now." });
    }
  };
  useEvents(lab, ({ type }) => {
    // What cannot be read now is told by the page of the lab itself.
    if (type === "lab" || type === "gap") look().catch(() => undefined);
  });
  // What was told while a change ran here.
  useEffect(() => {
    if (!busy) look().catch(() => undefined);
  }, [busy]);

  const run = async (words: string, work: () => Promise<Told>) => {
    setRunning({ words });
    setError(undefined);
    setTold({ text: "" });
    try {
      setTold(await work());
    } catch (problem) {
      setError(problem);
    }
    setRunning(undefined);
  };
  const options = { ...(prune && { prune }), ...(allow && { allow_unsupported: true }) };
  const planned = async (direction: "to_host" | "from_host"): Promise<PlanData> => {
    setTaken(undefined);
    const plan = await call("planProject", { lab, yaml: text, files, direction, ...options });
    setMade({ plan, of: mine, prune, allow });
    return plan;
  };
  const plan = () =>
    run("Comparing with the host…", async () => {
      await planned("to_host");
      return { text: "" };
    });
  const readHost = () =>
    run("Reading the host…", async () => {
      const { actions = [] } = await planned("from_host");
      return { text: actions.length > 0 ? "" : "The host has nothing that the text does not say." };
    });
  /** A change as a job, told step by step. */
  const change = async (
    words: string,
    input: { readonly plan_identity?: string; readonly confirm?: true; readonly direction?: "from_host" },
  ) => {
    const { job } = await changes.startJob("reconcileProject", { lab, yaml: text, files, ...options, ...input });
    const { operations } = made?.plan ?? {};
    setRunning({ words, job, ...(operations !== undefined && { operations }) });
    const onProgress = (now: Job) => setRunning((before) => before && { ...before, now });
    return await changes.waitForJob("reconcileProject", job, { onProgress });
  };
  /** After a change that was refused as stale, or cancelled: what is to do now. Other failures are thrown on. */
  const planAnew = async (problem: unknown, direction: "to_host" | "from_host"): Promise<Told> => {
    const words = problem instanceof LabwrightError ? refusalWords(problem) : undefined;
    if (words === undefined) throw problem;
    again();
    await planned(direction);
    return { text: words, warn: true };
  };
  const apply = (confirm: boolean) =>
    run(confirm ? "Applying…" : "Applying what disturbs no running node…", async () => {
      const identity = made?.plan.plan_identity;
      try {
        const result = await change(confirm ? "Applying" : "Applying what is safe", {
          ...(identity !== undefined && { plan_identity: identity }),
          ...(confirm && { confirm }),
        });
        setBase(mine);
        again();
        if (result.status !== "pending_stop") {
          setMade(undefined);
          if (result.status === "unchanged") return { text: "Nothing had to be done." };
          const steps = `Applied, ${stepWords(result.applied ?? 0)}`;
          if ((result.unsupported ?? []).length > 0) return { text: `${steps}, without what the host does not support.` };
          return { text: `${steps}. The host is as the text says.` };
        }
      } catch (problem) {
        return await planAnew(problem, "to_host");
      }
      await planned("to_host");
      setAsking("stop");
      return { text: "What disturbs nobody is applied. For the rest nodes must stop." };
    });
  const take = () =>
    run("Taking over…", async () => {
      const identity = made?.plan.plan_identity;
      try {
        const result = await change("Taking over", { direction: "from_host", ...(identity !== undefined && { plan_identity: identity }) });
        const after: IntentText = { yaml: result.yaml ?? text, files: result.files ?? files };
        setTaken({ before: mine, after });
        setMade(undefined);
        show(after);
        return { text: "The text now says what the host has." };
      } catch (problem) {
        return await planAnew(problem, "from_host");
      }
    });
  const cancel = async (job: string) => {
    try {
      await call("cancelJob", { id: job });
    } catch (problem) {
      // A change can end while its cancel is on the way. The page shows that end by itself.
      if (!(await hasEnded(job))) setError(problem);
    }
  };

  const shown = made?.plan;
  const fromHost = shown?.direction === "from_host";
  const actions = shown?.actions ?? [];
  const fresh = made !== undefined && sameIntent(made.of, mine) && made.prune === prune && made.allow === allow;
  const toDo = actions.length > 0 || (shown !== undefined && shown.exists === false);
  const graph = useMemo(() => graphOf(inspection, { actions: fromHost ? [] : actions, place }), [inspection, shown]);
  const marks = useMemo(() => [...new Set(planMarks(actions).values())].sort(), [shown]);
  const job = running?.job;
  return (
    <div class="plan">
      <div class="plan-text">
        <div ref={holder} class="editor" />
        <SideFiles files={files} readOnly={!mayChange} onChange={(path, content) => setFiles((all) => ({ ...all, [path]: content }))} />
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
              <button type="button" disabled={busy} onClick={() => void readHost()}>
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
              {(allow || (!fromHost && (shown?.unsupported ?? []).length > 0)) && (
                <label class="choice">
                  <input type="checkbox" checked={allow} onChange={(event) => setAllow(event.currentTarget.checked)} />
                  Apply the rest without what the host does not support
                </label>
              )}
            </>
          )}
        </div>
        {running !== undefined && <JobProgress {...running} onCancel={job === undefined ? undefined : () => cancel(job)} />}
        {other !== undefined && (
          <JobProgress key={other.job} words={other.words} now={other} onCancel={mayChange ? () => cancel(other.job) : undefined} />
        )}
        <output class={told.warn === true ? "warning" : ""}>{told.text}</output>
        {error !== undefined && <Problem error={error} />}
        {newer !== undefined && <NewerIntent mine={mine} theirs={newer} onTake={() => show(newer)} onKeep={() => keep(newer)} />}
        {shown === undefined && taken === undefined && !busy && error === undefined && told.text === "" && (
          <p class="hint">
            Change the text, then press Plan: you see what applying it would do, line by line and in the picture, before anything happens.
            Ctrl+Space completes.
          </p>
        )}
        {made !== undefined && !fresh && <p class="mark warn">The text or a choice changed since this plan: plan again to apply.</p>}
        {shown !== undefined && (
          <>
            <h2>{fromHost ? "What the host has and the text has not" : "What applying does"}</h2>
            {shown.locked === true && <p class="mark warn">The lab is locked on its host: nothing can be applied.</p>}
            <PlanList plan={shown} leavesOut={made?.allow === true} onLine={(line) => editor.current?.goTo(line)} />
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
        {taken !== undefined && <IntentDiff before={taken.before} after={taken.after} />}
      </div>
      {asking === "stop" && (
        <StopQuestion
          actions={actions}
          onCancel={() => setAsking(undefined)}
          onConfirm={() => {
            setAsking(undefined);
            void apply(true);
          }}
        />
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

  function keep(theirs: IntentText): void {
    setBase(theirs);
    setNewer(undefined);
    setTold({ text: "Yours stays. Applying it puts it in the place of theirs." });
  }
}

/** False also if the service does not answer. */
async function hasEnded(job: string): Promise<boolean> {
  try {
    return (await call("getJob", { id: job })).status !== "running";
  } catch {
    return false;
  }
}

function stepWords(count: number): string {
  return count === 1 ? "1 step" : `${count} steps`;
}

/** Of what leaves the lab to be planned anew; undefined for other failures. */
function refusalWords({ code, data }: LabwrightError): string | undefined {
  if (code === "plan_stale") return "The lab changed since that plan was made: nothing was done. This is the plan as of now.";
  if (code !== "cancelled") return undefined;
  const [done, left] = [data?.["applied"], data?.["remaining"]].map((list) => (Array.isArray(list) ? list.length : 0));
  return `Cancelled after ${stepWords(done ?? 0)}; ${stepWords(left ?? 0)} were not done. This is what is left to do.`;
}
