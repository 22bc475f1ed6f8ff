import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import { call } from "../service/api.ts";
import { Problem } from "../parts/problem.tsx";
import { useTitle } from "../parts/use-title.ts";
import { goTo } from "../parts/route.ts";

const example = `name: first
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;

interface State {
  readonly busy?: string;
  readonly error?: unknown;
  readonly told?: string;
}

/** A lab from YAML: typed, or files chosen or dropped on the page; files beside the YAML are those that it names. */
export function NewLab() {
  useTitle("New lab");
  const [yaml, setYaml] = useState(example);
  const [files, setFiles] = useState<Readonly<Record<string, string>>>({});
  const [over, setOver] = useState(false);
  const [state, setState] = useState<State>({});
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
      const { warnings } = await call("validateProject", { yaml, files });
      return (warnings ?? []).length === 0
        ? "The text is right."
        : (warnings ?? []).map(({ line, message }) => `line ${line}: ${message}`).join("\n");
    });
  const deploy = () =>
    run("Deploying…", async () => {
      const { lab = "" } = await call("deployProject", { yaml, files });
      goTo({ page: "lab", lab, view: "topology" });
      return undefined;
    });
  const take = (list: readonly File[]) =>
    run("Reading…", async () => {
      const read = await Promise.all(list.map(async (file) => [file.name, await file.text()] as const));
      const labs = read.filter(([name]) => /\.ya?ml$/i.test(name));
      if (labs.length > 1) {
        const names = labs.map(([name]) => name).join(", ");
        throw new LabwrightError(`One lab at a time: ${names} are ${labs.length} YAML files.`, { status: 400, code: "bad_request" });
      }
      const beside = read.filter(([name]) => name !== labs[0]?.[0]);
      if (labs[0] !== undefined) setYaml(labs[0][1]);
      if (beside.length > 0) setFiles((before) => ({ ...before, ...Object.fromEntries(beside) }));
      return [labs[0]?.[0], ...beside.map(([name]) => name)].filter(Boolean).join(", ") + (read.length === 1 ? " is read." : " are read.");
    });
  const taken = state.error instanceof LabwrightError && state.error.code === "lab_exists";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files can be chosen by a button, too
    <section
      class={over ? "dropping" : ""}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <h1>New lab</h1>
      <p>
        Write the lab, or drop its YAML file here, with the startup configurations that it names. containerlab and netlab files are read,
        too.
      </p>
      <label class="unseen" for="yaml">
        The lab as YAML
      </label>
      <textarea id="yaml" class="code" rows={24} spellcheck={false} value={yaml} onInput={(event) => setYaml(event.currentTarget.value)} />
      {Object.keys(files).length > 0 && (
        <ul class="chips" aria-label="Files beside it">
          {Object.keys(files)
            .sort()
            .map((name) => (
              <li key={name}>
                {name}
                <button
                  type="button"
                  class="plain"
                  aria-label={`Leave ${name} out`}
                  onClick={() => setFiles((all) => Object.fromEntries(Object.entries(all).filter(([each]) => each !== name)))}
                >
                  ×
                </button>
              </li>
            ))}
        </ul>
      )}
      <div class="buttons">
        <button type="button" onClick={() => void check()} disabled={state.busy !== undefined}>
          Check
        </button>
        <button type="button" class="primary" onClick={() => void deploy()} disabled={state.busy !== undefined}>
          Deploy
        </button>
        <label class="button">
          Choose files…
          <input
            type="file"
            class="unseen"
            multiple
            onChange={(event) => {
              const { currentTarget: input } = event;
              void take([...(input.files ?? [])]);
              // The same file can be chosen again, when it was mended meanwhile.
              input.value = "";
            }}
          />
        </label>
        <output>{state.busy ?? state.told}</output>
      </div>
      {state.error !== undefined && <Problem error={state.error} />}
      {taken && <p class="hint">Give it another name in the text, or open the lab that is there and change it by its plan.</p>}
    </section>
  );
}
