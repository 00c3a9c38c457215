//! Lists the plugins of some directories, with what is wrong about them.
//!
//! ```console
//! $ cargo run -p flyto-plugin --example list -- fixtures/plugins fixtures/bad/plugin
//! ```

#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::{env, time::Instant};

use flyto_plugin::{Catalogue, Filter, LoadOptions};

fn main() {
    let mut options = LoadOptions::new();
    options.path = env::var_os("PATH");

    let start = Instant::now();
    let catalogue = Catalogue::discover(
        env::args_os().skip(1).map(std::path::PathBuf::from),
        &Filter::new(),
        &options,
    );
    let time = start.elapsed();

    for dir in &catalogue.dirs {
        println!("{}: {:?}", dir.path.display(), dir.state);
    }
    for found in &catalogue.found {
        let name = found.name.as_deref().unwrap_or("?");
        println!("{name} ({}): {}", found.dir.display(), found.state);
        for tool in found.plugin.iter().flat_map(|it| it.tools()) {
            println!("    {}: {}", tool.name, tool.description);
        }
        for finding in &found.findings {
            println!("    {finding}");
        }
    }
    println!(
        "{} plugins, {} findings, {time:?}",
        catalogue.found.len(),
        catalogue.findings().count()
    );
}
