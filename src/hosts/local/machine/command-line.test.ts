import { expect, test } from "vitest";
import { unexpectedText } from "./command-line.ts";

test("an error of the file system is shown with its file, its code and the next step", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  expect(unexpectedText(full)).toBe(
    "error: a file of Labwright: its file system is full (ENOSPC)\n  hint: free space there, and try again",
  );
  const readOnly = Object.assign(new Error("EROFS: read-only file system, open 'x'"), { code: "EROFS", path: "/state/x" });
  expect(unexpectedText(readOnly)).toBe("error: /state/x: its file system is read-only (EROFS)\n  hint: mount it writable, and try again");
  expect(unexpectedText(new TypeError("no"))).toBe("error: no");
});
