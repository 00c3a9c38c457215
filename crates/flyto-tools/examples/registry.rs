//! A registry: names, search, exchange of a set of tools, and exports for model APIs.
//!
//! `cargo run -p flyto-tools --example registry`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use flyto_tools::export::{Format, export};
use flyto_tools::{DescribeContext, Metadata, NativeTool, NoInput, Registry, Tool};

fn tool(name: &str, description: &str, hint: &str) -> Result<Arc<dyn Tool>, Box<dyn Error>> {
    let mut metadata = Metadata::new();
    metadata.search_hint = Some(hint.into());
    let builder = NativeTool::builder(name, description).metadata(metadata);
    Ok(Arc::new(builder.run(async |_, _: NoInput| "done")?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::new();
    registry.replace_owner(
        "plugin git",
        [
            tool("git:log", "Shows the latest commits.", "history changes")?,
            tool("git:branch", "Names the current branch.", "checkout head")?,
        ],
    )?;
    registry
        .register("plugin 7zip", tool("7zip:list", "Lists an archive.", "zip tar contents")?)?;

    for entry in registry.snapshot().iter() {
        println!("{:12} {:18} {}", entry.id(), entry.wire_name(), entry.owner());
    }

    // A name that is taken is refused, and both owners are named.
    if let Err(err) = registry.register("plugin mine", tool("git:log", "Mine.", "")?) {
        println!("{err}");
    }

    // Hosts that load schemas late let the model search.
    for hit in registry.snapshot().search("history of commits", 5) {
        println!("found {} (score {})", hit.entry.id(), hit.score);
    }

    // A reload is one step: readers see the old set or the new one.
    let before = registry.snapshot();
    let changes = registry
        .replace_owner("plugin git", [tool("git:log", "Shows commits.", "history changes")?])?;
    println!("changed {:?}, removed {:?}", changes.changed, changes.removed);
    println!("{} tools before, {} now", before.len(), registry.snapshot().len());

    let ctx = DescribeContext::new().with_tools(registry.snapshot());
    for format in Format::ALL {
        let res = export(registry.snapshot().iter(), *format, &ctx);
        println!("{format}: {}", res.tools);
    }
    Ok(())
}
