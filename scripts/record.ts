/** Records the requests and answers that docs/api.md shows from the real service. `npm run generate` then writes them to the page. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordExchanges } from "../test/wire/record.ts";

await writeFile(join(import.meta.dirname, "pages/exchanges.json"), `${JSON.stringify(await recordExchanges(), null, 1)}\n`);
