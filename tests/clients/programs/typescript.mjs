// A TypeScript client, from the two modules named last: the text of a result, or the message of what it throws.
import { readFileSync, writeFileSync } from "node:fs";

const [planFile, shownFile, clientModule, stdioModule] = process.argv.slice(2);
const { Client } = await import(clientModule);
const { StdioClientTransport } = await import(stdioModule);
const shown = {};
for (const { command, calls } of JSON.parse(readFileSync(planFile, "utf8"))) {
  const client = new Client({ name: "matrix", version: "1" });
  await client.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "ignore" }));
  await client.listTools(); // from then on it checks what comes back against the schemas
  for (const call of calls) {
    try {
      const result = await client.callTool({ name: call.tool, arguments: call.arguments });
      const text = result.content.map((block) => block.text).join("\n");
      shown[call.case] = [result.isError ? "error" : "answer", text];
    } catch (error) {
      shown[call.case] = ["raised", error.message];
    }
  }
  await client.close();
}
writeFileSync(shownFile, JSON.stringify(shown));
