import { endAbandonedTests } from "../src/hosts/local/testing/test-directory.fixture.ts";

/** Once per run, before all tests: ends the processes that a killed run left. */
export default async function endAbandoned(): Promise<void> {
  for (const directory of await endAbandonedTests()) console.log(`ended what a killed test left in ${directory}`);
}
