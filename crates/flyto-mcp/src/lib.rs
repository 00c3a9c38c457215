#![doc = include_str!("../README.md")]
//!
//! ## What is spoken
//!
//! | method | up to 2025-11-25 | 2026-07-28 |
//! | --- | --- | --- |
//! | `initialize`, `ping` | yes | gone: method not found |
//! | `server/discover` | no | yes |
//! | `tools/list` | yes, in pages | yes, in pages, with `ttlMs` and `cacheScope` |
//! | `tools/call` | yes | yes; may end with `input_required` |
//! | `subscriptions/listen` | no | yes, for `toolsListChanged` |
//! | `notifications/cancelled` | taken, and sent for a question that is void | taken |
//! | `notifications/progress` | sent | sent |
//! | `notifications/tools/list_changed` | sent after the handshake | sent to subscriptions |
//! | `elicitation/create` | sent, from 2025-06-18 | within a result |
//! | batches | up to 2025-03-26, of 100 messages | no |
//!
//! A request whose `params._meta` names a revision is of the new era; `initialize` begins the old one. Both may come over
//! one connection. Prompts, resources, completions, logging and sampling are not offered: a flyto host has tools.
//!
//! ## Errors of the protocol
//!
//! | code | what the request did | beside that |
//! | --- | --- | --- |
//! | -32700 | it is no JSON | no id is known |
//! | -32600 | it is no message, is longer than [`ServerOptions::max_message_bytes`], or repeats an id that is in flight | the other one goes on |
//! | -32601 | it names a method that is not there | |
//! | -32602 | its parameters do not fit, its tool is not there, its cursor or its state is none of this server | nothing was called |
//! | -32022 | it names a revision that is not spoken; `data` lists those that are | |
//! | -32603 | none: the server itself has a fault | |
//!
//! An error without a known id has no member `id`. Everything that a model can react to is a result with `isError`: arguments
//! that break the schema, a refusal with the rule to add, a time that is over, a program that fails, too many calls at once.
//!
//! ## A call that is asked about
//!
//! The host decides by its rules that a call is to be asked first, or a tool has a checkpoint. The question is then the plan of
//! the call, in lines that no value can add to:
//!
//! ```text
//! flyto asks before this call of files:remove (plugin files).
//! runs: ./remove --force notes.txt
//! in: /home/ada/work
//! input: {"path":"notes.txt"}
//! because: ask: `./remove --force notes.txt`: no rule allows it
//! rule for this session: files:remove
//! ```
//!
//! In the old era it goes to the client as `elicitation/create` while the call waits, for ten minutes at most. In the new one the
//! call ends with `resultType: "input_required"`; the client makes it again with the answer and the `requestState`, and the
//! call begins anew. The state holds for ten minutes, for one call of the same tool with the same arguments, and for a question with
//! the very same text. Answers: approve once, approve for this session (the host holds the rules of the question until it ends),
//! deny. A call that a tool makes of another one is asked about in the old era only: in the new one, the call around it has begun.
//!
//! ## Bounds
//!
//! | what | at most | beyond it |
//! | --- | --- | --- |
//! | bytes of a message | 16 MiB ([`ServerOptions::max_message_bytes`]) | dropped while it is read, and answered with an error |
//! | messages that were read and wait | 4 | the client waits at its pipe |
//! | messages that wait to be written | 64 | calls wait with their results; progress is dropped |
//! | calls in flight | 256 ([`ServerOptions::max_calls`]) | a result that says so |
//! | bytes of the arguments of calls in flight | 64 MiB | a result that says so |
//! | subscriptions of a client | 16 | an error |
//! | questions without an answer, of the new era | 1,024 | the oldest cannot be answered any more |
//! | bytes of an id | 512 | an error |
//! | tools on a page | 500 ([`ServerOptions::page_tools`]) | the next page |
//! | notifications of progress of one call | 10 in a second | the newest takes the place of the others |
//!
//! | connections over HTTP | 64 ([`HttpOptions::max_connections`]) | a further one waits |
//! | sessions over HTTP, of the era of handshakes | 64 ([`HttpOptions::max_sessions`]) | the one used least recently is closed |
//! | time for the head of a request over HTTP, and for its body | 10 s, 30 s | the connection is closed; status 408 |
//!
//! How many programs run at once is bounded by [`flyto_host`]'s backend; calls beyond that wait for their place.
//!
//! ## Over HTTP
//!
//! | status | what the request did |
//! | --- | --- |
//! | 200 | it is answered: as JSON at once, or as a stream of events |
//! | 202 | it was a notification or an answer |
//! | 204 | a DELETE ended its session |
//! | 400 | an error of the protocol, also where its headers (`MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`) say another thing than its message (-32020) |
//! | 401 | it has no token, or another one |
//! | 403 | its `Host` or `Origin` is no loopback name |
//! | 404 | its path, its session or its method is not there |
//! | 405, 413, 415 | it is neither POST nor DELETE, is longer than a message may be, is no `application/json` |
//!
//! A client of the era of handshakes has a session, which `initialize` opens with the header `Mcp-Session-Id`. It is told of no changes
//! outside of calls: there is no stream for them, so it asks for the list of tools by itself.
//!
//! ## The end of a connection
//!
//! When the client closes its end, calls in flight have [`ServerOptions::drain`] to end and are answered; then they are cancelled,
//! which gives their programs the grace that they have, and after [`ServerOptions::grace`] they are dropped, which kills. A client that
//! does not read any more, and a stop, cancel them at once. Questions that wait end with a no.
#![forbid(unsafe_code)]

mod server;

pub use server::{ClientApprovals, ConnectionEnd, HttpOptions, Revision, Server, ServerOptions};
