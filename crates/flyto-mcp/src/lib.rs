#![doc = include_str!("../README.md")]
//!
//! ## What is spoken
//!
//! | method | up to 2025-11-25 | 2026-07-28 |
//! | --- | --- | --- |
//! | `initialize`, `ping` | yes | gone: method not found |
//! | `server/discover` | no | yes |
//! | `tools/list` | yes, in pages | yes, in pages, with `ttlMs` and `cacheScope` |
//! | `tools/call` | yes | yes; may end with `input_required` or with a task |
//! | `tasks/get`, `tasks/update`, `tasks/cancel` | no | yes, for clients that declare the extension |
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
//! | -32021 | it is about a task, and its client declares no tasks | nothing was done |
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
//! the very same text. Answers: approve once, approve for this session (later calls of the same client
//! that the same rules ask about are not asked about; other clients are, and over HTTP a client of the new era, which has no session, is
//! not given the choice), deny. One question has every reason. A checkpoint is a release before each call: where it is among the
//! reasons, there is no choice for the session. A question shows the command line and the input whole; a call for which it would have more
//! than 256 KiB is refused. A call that a tool makes of another one is asked about in the old era only: in the new one, the call around it has begun.
//!
//! ## A call that goes on
//!
//! With [`ServerOptions::jobs`], a call need not end with its request. It is a job of [`flyto_host`] then: recorded on disk before the
//! client has its id, listed by `flyto jobs`, kept by the process of the server, and cancelled when that ends ([`Server::end_jobs`]),
//! over HTTP when the session ends.
//!
//! | client | a call goes on | and is followed by |
//! | --- | --- | --- |
//! | it declares `io.modelcontextprotocol/tasks` | once it has run for [`ServerOptions::task_after`] | `tasks/get`, `tasks/cancel` |
//! | any | when its model starts it by `jobs__start` | `jobs__status`, `jobs__result`, `jobs__cancel` |
//!
//! What is asked about the call is answered before; a call that is refused makes no job. A call within it that is to be asked about
//! later is asked about where the connection of the old era is still there, else refused. A tool that fails, or is refused, is a task
//! that is `completed`, with a result that is an error; `failed` is a task whose end could not be recorded. A tool of the host that has
//! the name of one of the four keeps it.
//!
//! A client reaches the jobs that it started, and no others: those of its connection, or over HTTP of its session. In the new era over
//! HTTP, where requests belong to no session, a job is followed by its id, and is in no list.
//!
//! ## Bounds
//!
//! | what | at most | beyond it |
//! | --- | --- | --- |
//! | bytes of a message | 16 MiB ([`ServerOptions::max_message_bytes`]) | dropped while it is read, and answered with an error |
//! | messages that were read and wait | 4 | the client waits at its pipe |
//! | messages that wait to be written, and their bytes | 64, 4 MiB | calls wait with their results; progress is dropped |
//! | results that wait for a client that does not read | 64 beside the calls in flight | its further messages are not read |
//! | calls in flight | 256 ([`ServerOptions::max_calls`]) | a result that says so |
//! | calls that go on after their requests | 64 ([`ServerOptions::max_jobs`]) | a result that says so, or the client waits |
//! | bytes of the arguments of calls in flight | 64 MiB | a result that says so |
//! | time that a list waits for tools that are still to come ([`Server::lists_wait_for`]) | 5 s | what comes later is told as a change |
//! | subscriptions of a client | 16 | an error |
//! | questions without an answer, of the new era | 1,024 | the oldest cannot be answered any more |
//! | bytes of an id | 512 | an error |
//! | tools on a page, and their bytes | 500 ([`ServerOptions::page_tools`]), 4 MiB | the next page |
//! | bytes of the tools that a search gives | 256 KiB | the best ones |
//! | notifications of progress of one call | 10 in a second | the newest takes the place of the others |
//! | connections over HTTP | 256 ([`HttpOptions::max_connections`]) | the one that has been silent longest is closed; where each answers a request, status 503 |
//! | calls over HTTP | half of the connections, a quarter for one session and for all requests without one | a result that says so |
//! | streams of changes over HTTP | a quarter of the connections | status 503 |
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
//! | 405, 413, 415 | its method is not POST, DELETE or, with a session, GET; it is longer than a message may be; it is no `application/json` |
//! | 503 | it asks for a stream of changes, and there are too many; or every connection answers a request |
//!
//! A client of the era of handshakes has a session, which `initialize` opens with the header `Mcp-Session-Id`. A GET with that header is
//! answered with a stream of events that tells when the tools change. The stream ends with its session.
//!
//! ## The end of a connection
//!
//! When the client closes its end, calls in flight have [`ServerOptions::drain`] to end and are answered; then they are cancelled,
//! which gives their programs the grace that they have, and after [`ServerOptions::grace`] they are dropped, which kills. A client that
//! does not read any more, and a stop, cancel them at once. Questions that wait end with a no.
//!
//! ## As a client
//!
//! [`Servers`] connects to the servers that a host [declares](flyto_host::Host::servers).
//!
//! | transport | how |
//! | --- | --- |
//! | a program | started by the host's backend as class `mcp_server`, with the environment of its declaration; a line a message over its stdin and stdout; the end of its stderr is kept for messages |
//! | an address | streamable HTTP over `http` or `https`, a request a message; certificates are checked against the authorities of the system, or [`ClientOptions::ca_file`]; no redirect is followed; a session where the server opens one |
//!
//! A server is asked with `server/discover` first. One that answers with an error, or not within 5 s, is sent `initialize` over the same
//! connection, and may still answer the first; a program that ends is started again for it. A server of the era of handshakes is sent
//! `initialize` first from then on, and is asked where it refuses. Revisions: 2026-07-28, and 2024-11-05 to 2025-11-25.
//!
//! | what a server sends | what becomes of it |
//! | --- | --- |
//! | `notifications/tools/list_changed`, also within a subscription | its tools are listed anew, once a second at most |
//! | `notifications/progress` of a call | progress of the call |
//! | `elicitation/create`, or `input_required` | a question for [`ElicitationHandler`]; without one a refusal |
//! | `ping` | an answer |
//! | any other request | error -32601 |
//! | any other notification | nothing |
//!
//! ### The tools of a server
//!
//! The id of a tool is `server:tool`. A name that no id can hold becomes its plain characters with six hexadecimal digits of its
//! SHA-256, always the same. A tool is of the class `generic`; what its server says to be harmless counts for nothing, and what it
//! says to be destructive holds.
//!
//! | state of a definition | what becomes of the tool |
//! | --- | --- |
//! | the server was never connected to | it is not known; at the first connection all that is listed is kept |
//! | as it was kept | it is offered, also before the server is started; a call starts it |
//! | other than it was kept, or new | it is held back until [`Servers::approve`] |
//! | kept, and not listed any more | it is not offered |
//!
//! What is kept and compared: name, title, description, both schemas, annotations. The order of members does not count. A file
//! of what is kept that is damaged approves nothing.
//!
//! ### The life of a server's program
//!
//! Each program finds the variable [`SERVED_BY`] in its environment. A flyto that was started as a server of another one starts
//! no servers by it ([`ClientOptions::uses_servers`]), so that no chain of declarations starts processes without end.
//!
//! | moment | what happens |
//! | --- | --- |
//! | [`Servers::new`] | nothing is started; the tools that are known are registered |
//! | a call, [`Servers::connect`], [`Servers::keep_connected`] | it is started, with the values of its variables as they are then |
//! | it does not agree, or is not ready in time | it is killed, and the next start follows a pause |
//! | it closes its output, floods, or gives no sign of life | the connection ends, calls in flight are lost, and it is killed |
//! | [`Servers::disconnect`], [`Servers::close`] | its input ends; after [`ClientOptions::grace`] it is killed |
//! | the last [`Servers`] and the host are dropped, or the process is killed | it is killed, with what it started, as far as the backend can do that |
//!
//! Of a server of a plugin the declaration is looked at after each reload of the host: one that is the same keeps its program,
//! one that changed is closed, and the new one is started when it is needed.
//!
//! ### What is kept of a server
//!
//! The directory that [`Servers::new`] is given has one file for each server, by its name and the file that declares it: the
//! definitions of its tools, its version and the revision that was agreed on, as JSON. It is replaced in one step. A host that watches its
//! sources (`Host::watch`, with the feature `watch` of flyto-host) takes up what another process approved. A second file is there while a server was not
//! ready in time and never connected to ([`ServerReport::failed_before`]); it holds a digest of the declaration and no value of it.
//!
//! ### A question of a server
//!
//! | what the server sends | what [`ElicitationHandler::ask`] gets |
//! | --- | --- |
//! | a message and a form with fields | [`schema`](Elicitation::schema): an object schema, its properties as the server sent them |
//! | a message and a form without fields | no schema: a yes is all that is asked for |
//! | a message and an address | [`url`](Elicitation::url); an answer has no content then |
//! | anything else | nothing: the server gets an error, or the call a refusal |
//!
//! The same question comes in one of two ways: as a request within the call in the era of handshakes, and as a result that asks
//! for input in the new one, after which the call is made again with the answers. A handler sees no difference. Its future is
//! dropped when the call ends.
//!
//! ### Over HTTP
//!
//! | answer of the server | what becomes of it |
//! | --- | --- |
//! | JSON, or a stream of events | messages |
//! | a stream that ends before the answer | the request is lost |
//! | 404 within a session | the connection has ended; the next call opens another session |
//! | any other status but success | an error of the request |
//! | a redirect | the same: headers may hold credentials, and go to the declared address only |
//! | a certificate that is not trusted, or of another host | no connection; nothing was sent |
//!
//! ### The result of a call
//!
//! | what the server answers | what the result is |
//! | --- | --- |
//! | blocks of text | the text |
//! | images, audio, resources | a line each, and the blocks as structured result, or beside it where the server gives one; [`Server`] gives them to its clients as blocks |
//! | a block of another type | a line; images and the like come beside the result then |
//! | `structuredContent` | the structured result, checked against the output schema |
//! | `isError` | a failure that the tool reported, with its text |
//! | an error of the protocol | a failure that the tool reported, with the code |
//! | nothing within the time of the call, in which its start is not counted | timed out; the request is taken back, and a server that gives no sign of life within 5 s is ended |
//! | the end of its output | lost: what the call did is not known, and it is not made again |
//! | a message of more than [`ClientOptions::max_message_bytes`] | a failure by limit; other calls go on |
//!
//! A server that cannot be connected to gives an error of the kind
//! [`Unreachable`](flyto_tools::ToolErrorKind::Unreachable), and the next attempt follows a pause ([`ClientOptions::backoff`]).
//!
//! | bound of a connection | at most | beyond it |
//! | --- | --- | --- |
//! | time to connect | 30 s ([`ClientOptions::connect_timeout`]) | the attempt has failed |
//! | tools of a server | 1,000 ([`ClientOptions::max_tools`]) | left out, and told |
//! | pages of a list | 100 | left out |
//! | bytes of a definition | 256 KiB | the tool is left out, and told |
//! | its schemas | compile, with references within the schema or to a published dialect | the tool is left out, and told |
//! | requests in flight | 256 ([`ClientOptions::max_in_flight`]) | the call is not made |
//! | bytes of a line that is longer than a message may be | 4 times those of a message | the connection ends |
//! | lines that are no messages, answers to no request | 1,000 each | the connection ends |
//! | questions at once | 4 | an error to the server |
//! | rounds of one call that ask for more input | 8 | a failure |
//! | bytes of the text of a result | those of the output of a program of a plugin, 4 MiB | both ends, and a file with the whole |
//! | bytes of a structured result | 4 MiB | left out, and told; a failure where the tool declares its schema |
//! | blocks of a result, bytes of those that are no text | 1,000, 4 MiB | left out, and told |
//!
//! ## Servers of other clients
//!
//! [`import`] reads the files in which Claude Code, Codex, Gemini CLI, VS Code and Cursor declare servers, and [`install`] adds one to
//! such a file.
//!
//! ## Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `tls` (default) | servers behind `https`; it takes a C compiler for the target |
//! | `fuzz` | decoders for `cargo xtask fuzz`; no part of the public API |
#![forbid(unsafe_code)]

mod client;
mod server;

mod comments; // JSON with comments

pub mod import;
pub mod install;

#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;

pub use client::{
    ApproveError, ClientOptions, DefinitionChange, Elicitation, ElicitationAnswer,
    ElicitationHandler, HeldBack, SERVED_BY, ServerChanges, ServerReport, ServerStatus, Servers,
};
pub use server::{
    CallClient, ClientApprovals, ConnectionEnd, FormAnswer, FormError, HttpOptions, Revision,
    SERVER_TOOL_NAMES, Server, ServerOptions,
};
