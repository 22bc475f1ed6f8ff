import type { ComponentChildren } from "preact";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import type { ExampleLab } from "./example-lab.ts";
import { Thumbnail } from "./thumbnail.tsx";
import "./gallery.css";

interface GalleryProps {
  readonly isBusy: boolean;
  /** Deploys an example. */
  readonly onRun: (example: ExampleLab) => void;
  /** Puts the text of an example into the editor. */
  readonly onEdit: (example: ExampleLab) => void;
  /** Returns the answer to the last request about an example. */
  readonly answerOf: (example: ExampleLab) => ComponentChildren;
}

/** The example labs that this host can run. */
export function Gallery({ isBusy, onRun, onEdit, answerOf }: GalleryProps) {
  const { data = [], error, again } = useAnswer(readExamples, []);
  if (error !== undefined) return <Problem error={error} retry={again} />;
  if (data.length === 0) return null;
  return (
    <>
      <h2>Example labs</h2>
      <ul class="gallery">
        {data.map((example) => (
          <li key={example.name}>
            <Thumbnail example={example} />
            <h3>{example.name}</h3>
            <p>{example.description}</p>
            <div class="buttons">
              <button type="button" class="primary" disabled={isBusy} onClick={() => onRun(example)} aria-label={`Run ${example.name}`}>
                Run
              </button>
              <button type="button" disabled={isBusy} onClick={() => onEdit(example)} aria-label={`Edit first: ${example.name}`}>
                Edit first
              </button>
            </div>
            {answerOf(example)}
          </li>
        ))}
      </ul>
    </>
  );
}

async function readExamples(signal: AbortSignal): Promise<readonly ExampleLab[]> {
  const [answer, { templates = [] }] = await Promise.all([
    fetch("/ui/examples.json", { signal }),
    call("listTemplates", { provisioned: "true" }, { signal }),
  ]);
  if (!answer.ok) throw new Error(`the example labs cannot be loaded: HTTP status ${answer.status}`);
  const known = new Set(templates.map(({ id }) => id));
  return ((await answer.json()) as readonly ExampleLab[]).filter((example) => example.templates.every((one) => known.has(one)));
}
