#!/usr/bin/env node
// @tool Turn a title into the name of a file
// @param title: string
// @param separator: -|_ = -
// @readonly
// @output json {"type": "object", "properties": {"slug": {"type": "string"}}, "required": ["slug"]}
const { title, separator } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const slug = title.normalize("NFKD").toLowerCase().match(/[\p{L}\p{N}]+/gu)?.join(separator) ?? "";
console.log(JSON.stringify({ slug }));
