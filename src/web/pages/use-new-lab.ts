import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { ExampleLab } from "../gallery/example-lab.ts";
import type { IntentText } from "../intent/intent-text.ts";
import { goTo } from "../parts/route.ts";
import { call } from "../service/api.ts";

const example = `name: first
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;

interface RequestState {
  readonly busy?: string;
  readonly error?: unknown;
  readonly notice?: string;
}

/** The text of a new lab with its files, and the requests to check and deploy it. */
export interface NewLabControl extends RequestState {
  readonly yaml: string;
  /** Path → content of the files beside the YAML. */
  readonly files: Readonly<Record<string, string>>;
  readonly setYaml: (yaml: string) => void;
  readonly removeFile: (name: string) => void;
  /** Reads chosen or dropped files: at most one YAML file, which becomes the text. */
  readonly addFiles: (files: readonly File[]) => void;
  readonly check: () => void;
  readonly deploy: () => void;
  /** Deploys a lab without nodes, to draw it. */
  readonly deployEmpty: (name: string) => void;
  /** Deploys an example. */
  readonly run: (example: ExampleLab) => void;
  /** Shows the text of an example. */
  readonly edit: (example: ExampleLab) => void;
}

/** Returns the text of a file, or the texts of a zip archive. The paths of an archive are relative to the folder of its YAML file. */
async function textsOf(file: File): Promise<readonly (readonly [string, string])[]> {
  if (!/\.zip$/i.test(file.name)) return [[file.name, await file.text()]];
  const { readZip } = await import("../archive/unzip.ts");
  const files = [...(await readZip(new Uint8Array(await file.arrayBuffer())))];
  const lab = files.map(([path]) => path).find((path) => /^([^/]+\/)?[^/]+\.ya?ml$/i.test(path));
  const folder = lab === undefined ? "" : lab.slice(0, lab.lastIndexOf("/") + 1);
  return files.map(([path, text]) => [path.startsWith(folder) ? path.slice(folder.length) : path, text]);
}

export function useNewLab(): NewLabControl {
  const [yaml, setYaml] = useState(example);
  const [files, setFiles] = useState<Readonly<Record<string, string>>>({});
  const [state, setState] = useState<RequestState>({});
  const run = async (busy: string, work: () => Promise<string | undefined>) => {
    setState({ busy });
    try {
      const notice = await work();
      setState(notice === undefined ? {} : { notice });
    } catch (error) {
      setState({ error });
    }
  };
  const readFiles = async (list: readonly File[]) => {
    const read = (await Promise.all(list.map(textsOf))).flat();
    const labs = read.filter(([name]) => /\.ya?ml$/i.test(name));
    if (labs.length > 1) {
      const names = labs.map(([name]) => name).join(", ");
      throw new LabwrightError(`Choose one YAML file only: got ${names}.`, { status: 400, code: "bad_request" });
    }
    const others = read.filter(([name]) => name !== labs[0]?.[0]);
    if (labs[0] !== undefined) setYaml(labs[0][1]);
    if (others.length > 0) setFiles((before) => ({ ...before, ...Object.fromEntries(others) }));
    return `Read ${[labs[0]?.[0], ...others.map(([name]) => name)].filter(Boolean).join(", ")}.`;
  };
  const deploy = (lab: IntentText) =>
    void run("Deploying…", async () => {
      const { lab: path = "" } = await call("deployProject", { yaml: lab.yaml, files: lab.files });
      goTo({ page: "lab", lab: path, view: "topology" });
      return undefined;
    });
  return {
    ...state,
    yaml,
    files,
    setYaml,
    removeFile: (name) => setFiles((all) => Object.fromEntries(Object.entries(all).filter(([each]) => each !== name))),
    addFiles: (list) => void run("Reading…", () => readFiles(list)),
    check: () =>
      void run("Checking…", async () => {
        const { warnings = [] } = await call("validateProject", { yaml, files });
        return warnings.length === 0 ? "No problems found." : warnings.map(({ line, message }) => `line ${line}: ${message}`).join("\n");
      }),
    deploy: () => deploy({ yaml, files }),
    deployEmpty: (name) => deploy({ yaml: `name: ${name}\nnodes:\n`, files: {} }),
    run: deploy,
    edit: (one) => {
      setYaml(one.yaml);
      setFiles(one.files);
      setState({ notice: `This is the text of ${one.name}.` });
    },
  };
}
