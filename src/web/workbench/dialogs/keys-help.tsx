import { useModal } from "../../dialog/use-modal.ts";

/** The keys of the drawing, as the help shows them. */
export const keyRows: readonly (readonly [keys: string, effect: string])[] = [
  ["Tab", "go to the next node or link"],
  ["Space", "select it and open its panel"],
  ["Enter", "open the console of a node"],
  ["Menu key", "open the menu of a part or of the selection"],
  ["Escape", "select nothing, close a panel"],
  ["Arrow keys, + − 0", "move and zoom the drawing; show everything"],
  ["Alt + arrow keys", "move the selected parts"],
  ["Alt + Shift + arrow keys", "resize a shape"],
  ["L", "link two selected nodes"],
  ["F2", "rename a node, change a text"],
  ["Delete", "delete the selection"],
  ["Ctrl+A, Ctrl+C, Ctrl+V, Ctrl+D", "select all, copy, paste, duplicate"],
  ["Ctrl+Z, Ctrl+Y", "undo, redo"],
  ["Shift+H, Shift+V", "align the selection in a row, in a column"],
  ["Shift+A, Shift+D", "distribute the selection across, down"],
  ["?", "show these keys"],
];

/** Shows the keys of the drawing. */
export default function KeysHelp({ onClose }: { readonly onClose: () => void }) {
  const dialog = useModal();
  return (
    <dialog ref={dialog} onCancel={onClose} aria-label="Keys of the drawing">
      <h2>Keys of the drawing</h2>
      <table class="rows">
        <tbody>
          {keyRows.map(([keys, effect]) => (
            <tr key={keys}>
              <th scope="row">{keys}</th>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  );
}
