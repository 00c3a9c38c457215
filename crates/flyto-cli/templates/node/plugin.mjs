#!/usr/bin/env node
// Tools that are called by JSON-RPC: a request is a line on stdin, its reply a line on stdout.
//
//   {"jsonrpc": "2.0", "id": 1, "method": "execute", "params": {"tool": "slug", "args": {…}}}
//   {"jsonrpc": "2.0", "id": 1, "result": {"output": "…"}}
//   {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "…"}}
//
// Calls run side by side, so replies come in any order. At the end of input the program ends when its
// calls have. So it serves both lifetimes: a process for each call, and one for all.

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// JSON-RPC's own codes; those of the tools are positive.
const UNKNOWN = -32601;
const FAILED = 1;
const CANCELLED = 2;

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

/** What the caller is told: a message and a code. */
class Failed extends Error {
  constructor(message, code = FAILED) {
    super(message);
    this.code = code;
  }
}

// ---- the tools ----

const tools = {
  slug({ text }) {
    // Letters lose their accents: "Crème" becomes "creme".
    const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const result = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    if (result === "") throw new Failed("the text has no letter or digit");
    return result;
  },

  async wait({ seconds }, { progress, signal }) {
    for (let step = 0; step < 10; step++) {
      progress(step / 10, `step ${step} of 10`);
      await sleep(seconds * 100, undefined, { signal });
    }
    return `waited for ${seconds} s`;
  },
};

// ---- the protocol ----

/** The calls that are running, by their id. */
const calls = new Map();

async function execute(id, { tool, args }) {
  const controller = new AbortController();
  calls.set(id, controller);
  const call = {
    signal: controller.signal,
    /** Tells how far the call is, from 0 to 1. */
    progress: (share, detail) =>
      send({ method: "progress", params: { id, progress: share, detail } }),
  };
  try {
    if (!Object.hasOwn(tools, tool)) throw new Failed(`there is no tool ${tool}`, UNKNOWN);
    send({ id, result: { output: await tools[tool](args, call) } });
  } catch (err) {
    const code = controller.signal.aborted ? CANCELLED : err instanceof Failed ? err.code : FAILED;
    const message = controller.signal.aborted ? "cancelled" : err.message;
    send({ id, error: { code, message } });
  } finally {
    calls.delete(id);
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "execute") execute(id, params);
  else if (method === "cancel") calls.get(params.id)?.abort();
  // Also what shows that the program is at work: a ping after a deadline.
  else if (id !== undefined) send({ id, error: { code: UNKNOWN, message: "there is no such method" } });
}
