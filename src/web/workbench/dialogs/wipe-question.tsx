import { Confirm } from "../../dialog/confirm.tsx";

interface WipeQuestionProps {
  /** Keys of the nodes. */
  readonly names: readonly string[];
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Asks before nodes lose their disks. */
export function WipeQuestion({ names, onConfirm, onCancel }: WipeQuestionProps) {
  const title = names.length === 1 ? `Wipe ${names[0]}?` : `Wipe ${names.length} nodes?`;
  return (
    <Confirm title={title} action="Wipe" onConfirm={onConfirm} onCancel={onCancel}>
      {names.join(", ")}: running nodes are stopped and their disks are deleted. Files and saved configurations that are not in the intent
      are lost. At their next start they begin with their startup-config.
    </Confirm>
  );
}
