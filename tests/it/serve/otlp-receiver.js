// A collector for tests: accepts OTLP/JSON over HTTP by the definitions of OpenTelemetry itself, which it takes from
// the package @opentelemetry/otlp-transformer (`node otlp-receiver.js FOLDER_OF_THE_PACKAGE`).
//
// It prints its port, then one line of JSON for each trace. A field that the definitions do not have, or a value of
// another type, is answered with 400. What it prints was encoded as protobuf and decoded again.
"use strict";
const http = require("node:http");
const path = require("node:path");
const root = require(path.join(process.argv[2], "build/src/generated/root.js"));
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

// The fields of messages by the names of JSON, as far as traces need them.
const value = () => ({
  stringValue: "string", boolValue: "boolean", intValue: "int", doubleValue: "number",
  arrayValue: () => ({ values: [value] }), kvlistValue: () => ({ values: [pair] }), bytesValue: "string",
});
const pair = () => ({ key: "string", value });
const event = () => ({ timeUnixNano: "int", name: "string", attributes: [pair], droppedAttributesCount: "number" });
const link = () => ({
  traceId: "trace", spanId: "span", traceState: "string", attributes: [pair], droppedAttributesCount: "number", flags: "number",
});
const span = () => ({
  traceId: "trace", spanId: "span", traceState: "string", parentSpanId: "span", flags: "number", name: "string",
  kind: "number", startTimeUnixNano: "int", endTimeUnixNano: "int", attributes: [pair],
  droppedAttributesCount: "number", events: [event], droppedEventsCount: "number", links: [link],
  droppedLinksCount: "number", status: () => ({ message: "string", code: "number" }),
});
const scope = () => ({ name: "string", version: "string", attributes: [pair], droppedAttributesCount: "number" });
const request = () => ({
  resourceSpans: [() => ({
    resource: () => ({ attributes: [pair], droppedAttributesCount: "number" }),
    scopeSpans: [() => ({ scope, spans: [span], schemaUrl: "string" })],
    schemaUrl: "string",
  })],
});

// The message with ids as bytes. In JSON they are hexadecimal, which is the one difference from the JSON of protobuf.
function message(shape, given, at) {
  if (Array.isArray(shape)) {
    if (!Array.isArray(given)) throw new Error(`${at} is no list`);
    return given.map((one, index) => message(shape[0], one, `${at}[${index}]`));
  }
  if (typeof shape === "function") {
    if (typeof given !== "object" || given === null) throw new Error(`${at} is no object`);
    const fields = shape();
    return Object.fromEntries(Object.entries(given).map(([name, one]) => {
      if (!(name in fields)) throw new Error(`${at}.${name} is no field`);
      return [name, message(fields[name], one, `${at}.${name}`)];
    }));
  }
  const size = { trace: 16, span: 8 }[shape];
  if (size) {
    if (!new RegExp(`^[0-9a-f]{${2 * size}}$`).test(given) || /^0+$/.test(given)) throw new Error(`${at} is no id`);
    return Buffer.from(given, "hex");
  }
  if (shape === "int") {
    if (!/^-?[0-9]+$/.test(String(given))) throw new Error(`${at} is no integer`);
    return given;
  }
  if (typeof given !== shape) throw new Error(`${at} is no ${shape}`);
  return given;
}

function decoded(text) {
  const built = message(request, JSON.parse(text), "request");
  const refused = Request.verify(Request.fromObject(built));
  if (refused) throw new Error(refused);
  const bytes = Request.encode(Request.fromObject(built)).finish();
  return Request.toObject(Request.decode(bytes), { longs: String, bytes: String, defaults: false });
}

const server = http.createServer((call, answer) => {
  const parts = [];
  call.on("data", (part) => parts.push(part));
  call.on("end", () => {
    const reply = (status, content) => {
      answer.writeHead(status, { "content-type": "application/json" });
      answer.end(JSON.stringify(content));
    };
    if (call.method !== "POST" || call.url !== "/v1/traces") return reply(404, {});
    if (call.headers["content-type"] !== "application/json") return reply(415, {});
    try {
      console.log(JSON.stringify(decoded(Buffer.concat(parts).toString("utf8"))));
      reply(200, { partialSuccess: {} });
    } catch (error) {
      console.log(JSON.stringify({ refused: error.message }));
      reply(400, { message: error.message });
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
