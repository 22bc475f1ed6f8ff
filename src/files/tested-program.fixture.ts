import { packagePath, programPath } from "./program-path.ts";

/**
 * Returns the path of a program that tests start, such as "cli/main": of the bundle in a run of all tests, which has built it, so that they test the
 * programs that users have; else the source.
 */
export function testedProgram(name: string): string {
  return process.env.LABWRIGHT_TEST_BUNDLE === "1" ? packagePath(`dist/bundle/${name}.js`) : programPath(name);
}
