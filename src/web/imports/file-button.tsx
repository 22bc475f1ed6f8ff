import { filesOfInput, type PickedFile } from "./picked-files.ts";

interface FileButtonProps {
  readonly label: string;
  /** true: the user chooses a folder, all of whose files are read. */
  readonly isFolder?: boolean;
  readonly onFiles: (files: Promise<readonly PickedFile[]>) => void;
}

export function FileButton({ label, isFolder = false, onFiles }: FileButtonProps) {
  return (
    <label class="button">
      {label}
      <input
        ref={(input) => {
          if (input !== null) input.webkitdirectory = isFolder;
        }}
        type="file"
        class="visually-hidden"
        multiple
        onChange={(event) => {
          const { currentTarget: input } = event;
          onFiles(Promise.resolve(filesOfInput(input)));
          // Reset, so that choosing the same file again causes a change event.
          input.value = "";
        }}
      />
    </label>
  );
}
