//! The short reading, for manifests that are in order.
//!
//! Most manifests have no finding. The short reading goes over the text of one once, without a tree of its values, and
//! makes of it what the whole reading ([`read`](super::read)) makes. It gives up at the first thing that is not plainly
//! in order: a mistake, a warning, a key that few manifests have. It reports nothing: the caller reads such a manifest as
//! a whole, which alone knows what is wrong with it and what else may stand there.
//!
//! Where this reading gives a value, the whole one gives an equal one and no finding. A new key needs no change here: a
//! manifest that has it is read as a whole. A new check of a key that is known here has to be added here as well; the
//! tests compare the two readings.

mod schema; // a schema of input or output
#[cfg(test)]
mod tests;
mod tool; //   one entry of `tools`
mod value; //  values of keys

use std::sync::Arc;

use flyto_diagnostics::{MAX_ENTRIES, Source, Span, json::Scanner};

use self::value::{set, text};
use super::{
    conformant,
    def::{Manifest, Read},
    dialect::Dialect,
    entries,
    env::MAX_DECLARED,
    place::Place,
    servers::claude,
};
use crate::{names::NameKind, options::Depth};

/// Reads a manifest of the native format in which nothing is wrong; `None` for any other, and for one that is to be
/// checked in full. `passes` judges the name before any file is looked at.
pub(crate) fn read(
    source: &Source,
    place: Place<'_>,
    passes: impl Fn(&str) -> bool,
) -> Option<Read> {
    if place.options.depth != Depth::Quick || place.dialect != Dialect::Own || place.is_confined {
        return None;
    }
    let mut scanner = Scanner::new(source)?;
    let (mut name, mut schema) = (None, None);
    let (mut version, mut description, mut author) = (None, None, None);
    let mut tools = None;
    scanner.object(|scanner, key| match key {
        "name" => set(&mut name, named(scanner, &passes)),
        "version" => set(&mut version, text(scanner)),
        "description" => set(&mut description, text(scanner)),
        "author" => set(&mut author, text(scanner)),
        // The file of a closed format says so by it; any other is for editors.
        "$schema" => set(&mut schema, text(scanner).filter(|it| *it != conformant::SCHEMA)),
        // The name says whether tools are looked at.
        "tools" => set(&mut tools, name.and_then(|_| read_tools(scanner, source, place))),
        _ => None,
    })?;
    scanner.end()?;
    let ((name, name_span), (tools, spans)) = (name?, tools?);
    if claude::is_there(place) {
        return None;
    }
    let manifest = Manifest {
        name: name.to_owned(),
        version,
        description,
        author,
        tools,
        servers: Vec::new(),
        rules: Arc::default(),
    };
    Some(Read { manifest, name: name_span, tools: spans, refused: Vec::new() })
}

/// Whether the short reading takes a manifest. Panics where the whole one then gives something else, or a finding.
#[cfg(any(test, feature = "fuzz"))]
pub(crate) fn agrees(source: &Source, place: Place<'_>) -> bool {
    use flyto_diagnostics::{At, Findings, json};

    let Some(short) = read(source, place, |_| true) else { return false };
    let mut findings = Findings::new();
    let root = json::parse(source).expect("what is read shortly is JSON");
    let whole = super::read(At::root(source, &root), place, &mut findings);
    assert!(findings.is_empty(), "{findings:?} in {}", source.text());
    assert_eq!(whole.ok(), Some(short), "{}", source.text());
    true
}

/// The name of the plugin, and where it stands.
fn named<'s>(scanner: &mut Scanner<'s>, passes: impl Fn(&str) -> bool) -> Option<(&'s str, Span)> {
    let start = scanner.offset();
    let name = scanner.plain_string()?;
    NameKind::Plugin.check(name).ok()?;
    passes(name).then(|| (name, Span::new(start, scanner.offset())))
}

/// The tools, of which there is one at least, and where each of them stands.
fn read_tools(
    scanner: &mut Scanner<'_>,
    source: &Source,
    place: Place<'_>,
) -> Option<(Vec<super::ToolDef>, Vec<Span>)> {
    let (mut tools, mut spans) = (Vec::new(), Vec::new());
    let mut n_declared = 0;
    scanner.array(|scanner| {
        let start = scanner.offset();
        tools.push(tool::read(scanner, source, place, &mut n_declared)?);
        spans.push(Span::new(start, scanner.offset()));
        (spans.len() <= MAX_ENTRIES && n_declared <= MAX_DECLARED).then_some(())
    })?;
    tools.shrink_to_fit();
    spans.shrink_to_fit();
    let names = tools.iter().map(|it| it.name.as_str()).collect();
    (!tools.is_empty() && entries::are_unique(names)).then_some((tools, spans))
}
