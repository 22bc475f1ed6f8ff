import { lazy } from "../../parts/lazy.tsx";
import type { DrawActions } from "../edits/draw-actions.ts";
import { WipeQuestion } from "./wipe-question.tsx";

const InterfacesDialog = lazy(() => import("./interfaces-dialog.tsx"));
const KeysHelp = lazy(() => import("./keys-help.tsx"));
const NameDialog = lazy(() => import("./name-dialog.tsx"));

interface BenchDialogsProps {
  readonly draws: DrawActions;
  readonly showsKeys: boolean;
  readonly onKeysClose: () => void;
  /** Keys of the nodes for which the question before a wipe is shown. */
  readonly wiping: readonly string[] | undefined;
  readonly onWipe: (nodes: readonly string[]) => void;
  readonly onWipeCancel: () => void;
}

/** The dialogs over the page of a lab. At most one of them is open. */
export function BenchDialogs({ draws, showsKeys, onKeysClose, wiping, onWipe, onWipeCancel }: BenchDialogsProps) {
  const { renaming, changing } = draws;
  return (
    <>
      {showsKeys && <KeysHelp onClose={onKeysClose} />}
      {renaming !== undefined && (
        <NameDialog
          name={"text" in renaming ? renaming.text : renaming.label}
          isText={"text" in renaming}
          onName={(name) => draws.rename(renaming, name)}
          onCancel={() => draws.beginRename(undefined)}
        />
      )}
      {changing !== undefined && (
        <InterfacesDialog
          title={`Interfaces of the link ${changing.key}`}
          ends={changing.ends}
          onChosen={(interfaces) => draws.setInterfaces(changing, interfaces)}
          onCancel={() => draws.beginInterfaces(undefined)}
        />
      )}
      {wiping !== undefined && <WipeQuestion names={wiping} onCancel={onWipeCancel} onConfirm={() => onWipe(wiping)} />}
    </>
  );
}
