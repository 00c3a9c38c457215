//! `serve` as its clients meet it: a process, and lines of JSON on its stdin and stdout.

mod approvals; // what the user of a client is asked
mod background; // calls that go on after their requests
pub(crate) mod client; // a client that speaks both eras
mod content; // images, audio and resources
mod core; //   framing, the two eras, the end of a connection
mod discovery; // two tools in place of all
mod http; //   clients over HTTP
mod inner; //  calls within a call, about which the user is asked
mod proposals; // tools that a model proposes
mod ready; // tools whose programs are started before their calls
mod robust; // hostile clients and tools
pub(crate) mod running; // calls in flight, and changes
mod tools; //  the list of tools, and calls
