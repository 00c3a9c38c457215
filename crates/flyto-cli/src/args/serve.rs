//! The options of `serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as Group;

use super::Common;
use super::times::seconds;

#[derive(Debug, Group)]
#[command(after_help = "\
A client starts this program and speaks the Model Context Protocol with it over stdin and stdout. Claude Code, for example:

  claude mcp add flyto -- flyto serve --plugins DIR

Calls are those of a model: what the rules do not allow is asked or refused, and the refusal says which rule would allow it.
Words for people are on stderr. It ends with exit code 0 when the client closes stdin; calls in flight then have 5 s to end.")]
pub(crate) struct Serve {
    /// Serves clients over HTTP at ADDR, `127.0.0.1:8080` or a port alone, in place of stdin and stdout
    ///
    /// Only a loopback address is taken. The URL and the token that each request must have are printed to stderr.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// Takes the token for --http from FILE, in place of a random one
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Cuts the middle out of an output that is longer than BYTES
    ///
    /// 64 KiB without it, and where neither FLYTO_OUTPUT_LIMIT nor the configuration says otherwise.
    #[arg(long, value_name = "BYTES")]
    pub(crate) output_limit: Option<u64>,
    /// Offers a tool that finds tools and one that calls them, in place of all tools
    ///
    /// For hundreds of tools, whose schemas a model would otherwise read with each request.
    #[arg(long)]
    pub(crate) discovery: bool,
    /// Tells a client that asks for progress of a silent call every SECONDS [default: 15]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub(crate) heartbeat: Option<Duration>,
    /// Answers a call that has run for SECONDS with a task, where the client knows tasks [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub(crate) task_after: Option<Duration>,
    /// Lets no call go on after its request: neither as a task, nor by the tools for jobs
    #[arg(long)]
    pub(crate) no_jobs: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Reads an address with a port, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse::<u16>().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let address = port.or_else(|_| text.replace("localhost:", "127.0.0.1:").parse());
    let address = address.map_err(|_| "expected an address with a port, or a port".to_owned())?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => {
            Err("only a loopback address is served; put a proxy that speaks TLS before it"
                .to_owned())
        }
    }
}
