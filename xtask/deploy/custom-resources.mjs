// Checks custom resources against the schemas of their operators, twice: by TypeScript, which knows every field and refuses others,
// and by the packages' validators, which know formats and ranges.
//
//     node custom-resources.mjs CUSTOM.json     (of kubernetes.py; a copy of this file that lies beside node_modules, where it is run)

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

const PACKAGES = {
  "gateway.networking.k8s.io": "@kubernetes-models/gateway-api",
  "keda.sh": "@kubernetes-models/keda",
  "postgresql.cnpg.io": "@kubernetes-models/cloudnative-pg",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
};
// No package has its schema. What is checked of it is that it is YAML; deploy/README.md says so.
const WITHOUT_SCHEMA = ["barmancloud.cnpg.io/v1 ObjectStore"];

const resources = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = [];
const source = [];
for (const [index, { name, resource }] of resources.entries()) {
  const { apiVersion, kind } = resource;
  if (WITHOUT_SCHEMA.includes(`${apiVersion} ${kind}`)) continue;
  const [group] = apiVersion.split("/");
  const models = PACKAGES[group];
  if (!models) {
    wrong.push(`${name}: no schema of ${apiVersion} is at hand`);
    continue;
  }
  const place = `${models}/${apiVersion}/${kind}`;
  source.push(
    `import type { I${kind} as T${index} } from ${JSON.stringify(place)};`,
    `// ${name}`,
    `export const r${index}: T${index} = ${JSON.stringify(resource)};`,
  );
  try {
    const { [kind]: model } = await import(place);
    new model(resource).validate();
  } catch (error) {
    wrong.push(`${name}: ${error.message}`);
  }
}
if (source.length === 0) wrong.push("there are no custom resources at all");
mkdirSync("checked", { recursive: true });
writeFileSync("checked/resources.ts", source.join("\n"));
try {
  const tsc = require.resolve("typescript/bin/tsc");
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--pretty", "false"];
  execFileSync(process.execPath, [tsc, ...flags, "checked/resources.ts"], { encoding: "utf8" });
} catch (error) {
  wrong.push((error.stdout || String(error)).slice(0, 4000));
}
if (wrong.length > 0) {
  console.log(wrong.join("\n"));
  process.exit(1);
}
