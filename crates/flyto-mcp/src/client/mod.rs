//! The client: the tools of servers for a host.
//!
//! Bytes come in by `stdio` or `http`, are cut into messages by `lines` or `events` and read by `incoming`; `peer`
//! brings each answer to the caller that waits for it. Up to there nothing is known of tools. `handshake` and
//! `listing` make a connection of it, `server` compares what is listed with the `pins`, and `tool` calls.
//!
//! All of it runs in tasks of the Tokio runtime in which a connection was made: a writer, a reader and a reader of
//! stderr for a program; one task a request over HTTP; one that follows changes of the list, and one that ends the
//! program when the conversation has ended. No task waits for a lock while another one holds it across an await, but
//! for the attempt to connect.

mod elicitation; // what a server asks the user
mod options; //     its bounds
mod report; //      what is told of a server

// from bytes to messages,
mod connect; //  connections over HTTP
mod events; //   streams of events
mod http; //     a server behind an address
mod incoming; // what a server sends
mod lines; //    lines of bounded length
#[cfg(not(feature = "tls"))]
mod no_tls; //   … in a build without them
mod pace; //     floods
mod peer; //     requests that wait for an answer
mod stdio; //    a server that is a program
#[cfg(feature = "tls")]
mod tls; //      certificates

// what they say,
mod content; //    the result of a call
mod definition; // the declaration of a tool
mod handshake; //  which era a server is of
mod listing; //    its tools

// and what is made of them.
mod connection; // one connection, from its begin to its end
mod late; //       servers that were not ready in time
mod pins; //       the definitions that the operator knows
mod server; //     one server: connection, pins, tools
mod servers; //    all servers of a host
mod tool; //       a tool of a server

pub use self::{
    elicitation::{Elicitation, ElicitationAnswer, ElicitationHandler},
    options::{ClientOptions, SERVED_BY},
    report::{DefinitionChange, HeldBack, ServerChanges, ServerReport, ServerStatus},
    servers::{ApproveError, Servers},
};
