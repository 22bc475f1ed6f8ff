import { useState } from "preact/hooks";
import { call } from "../api.ts";
import { Problem } from "../parts/problem.tsx";
import { goTo } from "../route.ts";

const example = `name: first
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;

/** A lab from YAML: typed, or a file dropped on the page. */
export function NewLab() {
  const [yaml, setYaml] = useState(example);
  const [state, setState] = useState<{ readonly busy?: string; readonly error?: unknown; readonly told?: string }>({});
  const run = async (busy: string, work: () => Promise<string | undefined>) => {
    setState({ busy });
    try {
      const told = await work();
      setState(told === undefined ? {} : { told });
    } catch (error) {
      setState({ error });
    }
  };
  const check = () =>
    run("Checking…", async () => {
      const { warnings } = await call("validateProject", { yaml });
      return (warnings ?? []).length === 0
        ? "The text is right."
        : (warnings ?? []).map(({ line, message }) => `line ${line}: ${message}`).join("\n");
    });
  const deploy = () =>
    run("Deploying…", async () => {
      const { lab = "" } = await call("deployProject", { yaml });
      goTo({ page: "lab", lab, view: "topology" });
      return undefined;
    });
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file !== undefined) setYaml(await file.text());
  };
  return (
    <section>
      <h1>New lab</h1>
      <p>Write the lab, or drop a YAML file on the text.</p>
      <label class="unseen" for="yaml">
        The lab as YAML
      </label>
      <textarea
        id="yaml"
        class="code"
        rows={24}
        spellcheck={false}
        value={yaml}
        onInput={(event) => setYaml(event.currentTarget.value)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => void drop(event)}
      />
      <div class="buttons">
        <button type="button" onClick={() => void check()} disabled={state.busy !== undefined}>
          Check
        </button>
        <button type="button" class="primary" onClick={() => void deploy()} disabled={state.busy !== undefined}>
          Deploy
        </button>
        <output>{state.busy ?? state.told}</output>
      </div>
      {state.error !== undefined && <Problem error={state.error} />}
    </section>
  );
}
