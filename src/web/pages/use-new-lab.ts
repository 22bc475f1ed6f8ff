import { useRef, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { ExampleLab } from "../gallery/example-lab.ts";
import { freeNameOf, renamed } from "../gallery/free-name.ts";
import type { ImportedText } from "../imports/import-review.tsx";
import { type ImportSource, pastedSource } from "../imports/import-source.ts";
import type { PickedFile } from "../imports/picked-files.ts";
import { type FoundImport, findImport } from "../imports/use-import.ts";
import { keepWarnings } from "../labs/notices/deploy-warnings.ts";
import { goTo } from "../parts/route.ts";
import { call } from "../service/api.ts";
import { readPicked } from "./read-picked.ts";

const example = `name: first
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;

/** The part of the page whose button was pressed: the answer is shown there. */
export type NewLabPart = "empty" | "text" | `example ${string}`;

interface RequestState {
  readonly part?: NewLabPart;
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
  /** Reads chosen or dropped files: a lab of another tool, which is shown before it is accepted, or at most one YAML file, which becomes the text. */
  readonly addFiles: (files: Promise<readonly PickedFile[]>) => void;
  /** Offers to import pasted text if it is a lab of another tool. */
  readonly pasted: (text: string) => void;
  /** Offers to import a lab of another tool that the service loads. */
  readonly fromUrl: (url: string) => void;
  /** A lab of another tool that the user has not accepted yet. */
  readonly found: FoundImport | undefined;
  readonly cancelImport: () => void;
  /** Shows the text of a lab. */
  readonly editText: (lab: ImportedText, notice: string) => void;
  /** Deploys a lab, whose text stays in the editor if the service refuses it. */
  readonly deployText: (lab: ImportedText) => void;
  readonly check: () => void;
  readonly deploy: () => void;
  /** Deploys a lab without nodes, to draw it. */
  readonly deployEmpty: (name: string) => void;
  /** Deploys an example. @param name another name for it, because a lab has its own */
  readonly run: (example: ExampleLab, name?: string) => void;
  /** A name for the example whose own name was refused as taken. */
  readonly freeName: string | undefined;
  /** Shows the text of an example. */
  readonly edit: (example: ExampleLab) => void;
}

/** Whether a deploy was refused because of the lab's name. A lab that this user may not see is reported as a path that is not available. */
export function isTaken(error: unknown): boolean {
  return error instanceof LabwrightError && (error.code === "lab_exists" || error.code === "lab_not_found");
}

export function useNewLab(): NewLabControl {
  const [yaml, setYaml] = useState(example);
  const [files, setFiles] = useState<Readonly<Record<string, string>>>({});
  /** The `source` of the imported lab in the editor. */
  const [source, setSource] = useState<unknown>();
  const [state, setState] = useState<RequestState>({});
  const [found, setFound] = useState<FoundImport>();
  const [freeName, setFreeName] = useState<string>();
  /** Names of labs that the service refused, of which this user may not know otherwise. */
  const refused = useRef(new Set<string>());
  const runAt = async (part: NewLabPart, busy: string, work: () => Promise<string | undefined>) => {
    setState({ part, busy });
    setFreeName(undefined);
    try {
      const notice = await work();
      setState(notice === undefined ? {} : { part, notice });
    } catch (error) {
      setState({ part, error });
    }
  };
  const run = (busy: string, work: () => Promise<string | undefined>) => runAt("text", busy, work);
  /** Shows a result, or the text of a lab of Labwright, for which there is nothing to accept. */
  const showResult = (result: FoundImport): string | undefined => {
    const { lab } = result;
    if (lab?.format !== "labwright") {
      setFound(result);
      return undefined;
    }
    setYaml(lab.yaml);
    setFiles(lab.files);
    setSource(undefined);
    const left = lab.report.length === 0 ? "" : ` Left out: ${lab.report.map(({ file }) => file).join(", ")}.`;
    return `Read ${[lab.path, ...Object.keys(lab.files)].join(", ")}.${left}`;
  };
  const readFiles = async (files: Promise<readonly PickedFile[]>) => {
    const picked = await files;
    if (picked.length === 0) return undefined;
    const read = await readPicked(picked);
    if ("found" in read) return showResult(read.found);
    if (read.yaml !== undefined) {
      setYaml(read.yaml);
      setSource(undefined);
    }
    setFiles((before) => ({ ...before, ...read.files }));
    return read.notice;
  };
  const readPasted = async (source: ImportSource) => {
    const result = await findImport(source);
    if (!(result instanceof LabwrightError)) setFound(result);
    return undefined;
  };
  const editText = (lab: ImportedText, notice: string) => {
    setYaml(lab.yaml);
    setSource(lab.source);
    setFiles(lab.files);
    setFound(undefined);
    setState({ part: "text", notice });
  };
  const deployNow = async (lab: ImportedText) => {
    const { lab: path = "", warnings } = await call("deployProject", {
      yaml: lab.yaml,
      files: lab.files,
      ...(lab.source !== undefined && { source: lab.source }),
    });
    keepWarnings(path, warnings);
    goTo({ page: "lab", lab: path, view: "topology" });
    return undefined;
  };
  const deploy = (lab: ImportedText, part: NewLabPart = "text") => void runAt(part, "Deploying…", () => deployNow(lab));
  const runExample = (one: ExampleLab, name: string) =>
    void runAt(`example ${one.name}`, "Deploying…", async () => {
      try {
        return await deployNow({ ...one, yaml: renamed(one.yaml, name) });
      } catch (error) {
        if (!isTaken(error)) throw error;
        refused.current.add(name);
        // A list that cannot be read only means that the offered name may be taken, too.
        const { labs } = await call("listLabs", {}).catch(() => ({ labs: [] }));
        setFreeName(freeNameOf(one.name, [...refused.current, ...labs.map((lab) => lab.name)]));
        throw error;
      }
    });
  return {
    ...state,
    yaml,
    files,
    setYaml,
    removeFile: (name) => setFiles((all) => Object.fromEntries(Object.entries(all).filter(([each]) => each !== name))),
    addFiles: (list) => void run("Reading…", () => readFiles(list)),
    pasted: (text) => {
      const source = pastedSource(text);
      if (source !== undefined) void run("Reading…", () => readPasted(source));
    },
    fromUrl: (url) =>
      void run("Loading…", async () => {
        const result = await findImport({ input: { url }, leftOut: [] });
        if (result instanceof LabwrightError) throw result;
        return showResult(result);
      }),
    found,
    cancelImport: () => setFound(undefined),
    editText,
    deployText: (lab) => {
      editText(lab, "");
      deploy(lab);
    },
    check: () =>
      void run("Checking…", async () => {
        const { warnings = [] } = await call("validateProject", { yaml, files });
        return warnings.length === 0 ? "No problems found." : warnings.map(({ line, message }) => `line ${line}: ${message}`).join("\n");
      }),
    deploy: () => deploy({ yaml, files, source }),
    deployEmpty: (name) => deploy({ yaml: `name: ${name}\nnodes:\n`, files: {} }, "empty"),
    run: (one, name = one.name) => runExample(one, name),
    freeName,
    edit: (one) => editText(one, `This is the text of ${one.name}.`),
  };
}
