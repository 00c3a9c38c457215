//! The client: the tools of servers for a host.

mod elicitation; // what a server asks the user
mod options; //     its bounds
mod report; //      what is told of a server

// from bytes to messages,
mod connect; //  connections over HTTP
mod events; //   streams of events
mod http; //     a server behind an address
mod incoming; // what a server sends
mod lines; //    lines of bounded length
mod peer; //     requests that wait for an answer
mod stdio; //    a server that is a program
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
    options::ClientOptions,
    report::{DefinitionChange, HeldBack, ServerReport, ServerStatus},
    servers::{ApproveError, Servers},
};
