//! The network of a program: what a manifest may ask for, and what an operator may grant.
//!
//! The words are the same in both places, and mean an upper bound for a tool and a permission
//! for a grant. A tool may not ask for more than its class has, so `on` is an error in a
//! manifest.

use flyto_diagnostics::{
    ObjectReader, Reported,
    codes::{BAD_VALUE, WRONG_TYPE},
    json::Node,
};
use flyto_execenv::{HostPattern, Network};

use super::meant;

/// Reads `network` of an object that the operator wrote: `on`, `off`, or a list of the hosts that may be reached.
///
/// # Errors
///
/// [`Reported`] when it is none of them, or a host cannot be read. `None` where the key is
/// absent or `null`. [`HostPattern`] says how a host is written. `true` and `false` are errors
/// with the word as suggestion.
pub fn read_network(reader: &mut ObjectReader<'_, '_>) -> Result<Option<Network>, Reported> {
    let Some(at) = reader.optional("network")? else { return Ok(None) };
    meant::check(reader, "network", |at| {
        let Node::Bool(on) = at.value().node else { return None };
        let word = if on { "\"on\"" } else { "\"off\"" };
        let what =
            format!("\"network\" must be \"on\" or \"off\", found {}", at.value().describe());
        let diag = at.error(WRONG_TYPE, what);
        Some(diag.with_help(format!("write `{word}`")).with_suggestion(at.span(), word))
    })?;
    if !matches!(at.value().node, Node::Array(_)) {
        let is_on = reader.optional_one_of("network", &[("off", false), ("on", true)])?;
        return Ok(is_on.map(|on| if on { Network::Host } else { Network::Off }));
    }
    let texts = reader.optional_string_array("network")?.unwrap_or_default();
    let mut res = Vec::with_capacity(texts.len());
    let mut failed = None;
    for (text, at) in texts.into_iter().zip(at.items()) {
        match text.parse::<HostPattern>() {
            Ok(pattern) => res.push(pattern),
            Err(err) => {
                let help =
                    "write a host such as `example.org`, `*.example.org` or `example.org:443`";
                let diag = at.error(BAD_VALUE, err.to_string()).with_help(help);
                failed = Some(reader.push(diag));
            }
        }
    }
    failed.map_or(Ok(Some(Network::Hosts(res))), Err)
}

/// Reads `network` of a tool, which can ask for less than its class has and not for more.
/// # Errors
///
/// [`Reported`] for the word `on`, and where [`read_network`] fails.
pub(super) fn network(reader: &mut ObjectReader<'_, '_>) -> Result<Option<Network>, Reported> {
    let network = read_network(reader)?;
    if network != Some(Network::Host) {
        return Ok(network);
    }
    let what = "a tool cannot ask for the network";
    let diag = reader.at("network").error(BAD_VALUE, what);
    let diag = diag.with_reason("what its class may reach is the operator's to decide");
    Err(reader.push(diag.with_help("remove it; the operator opens the network with a grant")))
}
