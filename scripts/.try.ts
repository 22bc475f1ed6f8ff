import { readFileSync, readdirSync, statSync } from "node:fs"; import { join } from "node:path";
import { imported } from "../src/importers/testing.fixture.ts";
const f=process.argv[2]!; const dir=join(f,"..","beside"); const files: Record<string,Uint8Array>={[f.split("/").at(-1)!]: readFileSync(f)};
try { for (const p of readdirSync(dir,{recursive:true,encoding:"utf8"})) if (statSync(join(dir,p)).isFile()) files[p]=readFileSync(join(dir,p)); } catch {}
const r=imported(files, {path: f.split("/").at(-1)!, ...(process.argv[3]&&{substitute:process.argv[3] as "frr"})});
console.log(r.yaml); for (const l of r.report) console.log(l.line, l.level, l.path, l.message.slice(0,120)); console.log(JSON.stringify(r.missing), r.diagnostics, Object.keys(r.files));
