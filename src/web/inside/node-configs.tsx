import { useState } from "preact/hooks";
import { SideBySide } from "../intent/side-by-side.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { configsCommand, type RouterConfigs, routerConfigs } from "./router-configs.ts";
import { runInNode } from "./run-in-node.ts";

interface NodeConfigsProps {
  readonly lab: string;
  /** Key of the router, which runs. */
  readonly node: string;
  /** Changes when the configuration was saved, so that it is read again. */
  readonly savedAt: number;
}

const views = { running: "Running", startup: "Startup", difference: "Difference" } as const;
type View = keyof typeof views;

/** The running configuration of a router, the one that it starts with, and their difference. */
export default function NodeConfigs({ lab, node, savedAt }: NodeConfigsProps) {
  const [view, setView] = useState<View>("running");
  const { data, error, again } = useAnswer(
    async (signal) => routerConfigs(await runInNode(lab, node, configsCommand, signal)),
    [lab, node, savedAt],
  );
  return (
    <>
      <div class="buttons">
        {(Object.keys(views) as View[]).map((one) => (
          <button key={one} type="button" aria-pressed={one === view} onClick={() => setView(one)}>
            {views[one]}
          </button>
        ))}
        <button type="button" onClick={again}>
          Read again
        </button>
      </div>
      {error !== undefined && <Problem error={error} />}
      {data === undefined && error === undefined && <p class="hint">Reading…</p>}
      {data !== undefined && <Configs view={view} configs={data} node={node} />}
    </>
  );
}

interface ConfigsProps {
  readonly view: View;
  readonly configs: RouterConfigs;
  readonly node: string;
}

function Configs({ view, configs, node }: ConfigsProps) {
  const { running, startup } = configs;
  if (view === "difference") {
    if (running === startup) return <p class="hint">The running configuration is saved: both are the same.</p>;
    return <SideBySide before={startup} after={running} titles={["Startup", "Running"]} />;
  }
  if (configs[view] === "") return <p class="hint">The node has saved no configuration.</p>;
  return (
    <section class="console-log" aria-label={`${views[view]} configuration of ${node}`}>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
        tabIndex={0}
      >
        {configs[view]}
      </pre>
    </section>
  );
}
