//! Every decoder of the workspace that reads what a stranger wrote, as a function of bytes.
//!
//! A decoder may refuse anything; it must not panic, overflow the stack, or take more time or memory than its input
//! pays for. `cargo xtask fuzz NAME --seconds N` has libFuzzer look for inputs that make one do so, beginning with
//! the files below `fixtures/`. The tests of this crate hand the same files to every decoder, whole and damaged.

#![forbid(unsafe_code)]

mod audit;
mod client_file;
mod command_line;
mod evolve;
mod host;
mod secrets;
mod seeds;

use flyto_diagnostics::{Source, json};
use flyto_plugin::{Depth, LoadOptions, ToolDef};
use serde_json::{Value, json};

pub use self::{
    audit::audit,
    client_file::{client_file, install},
    command_line::command_line,
    evolve::{definition, evolve_command, evolve_store, skill},
    host::{job, trust, undo},
    secrets::secrets,
    seeds::seeds,
};

/// One decoder.
pub type Target = fn(&[u8]);

/// Every decoder by its name, which is that of its function and of its binary.
pub const TARGETS: &[(&str, Target)] = &[
    ("audit", audit),
    ("client_file", client_file),
    ("client_message", client_message),
    ("command_line", command_line),
    ("configuration", configuration),
    ("definition", definition),
    ("evolve_command", evolve_command),
    ("evolve_store", evolve_store),
    ("exec_tools", exec_tools),
    ("install", install),
    ("job", job),
    ("json", json),
    ("manifest", manifest),
    ("message", message),
    ("proxy", proxy),
    ("records", records),
    ("schema", schema),
    ("secrets", secrets),
    ("skill", skill),
    ("template", template),
    ("tls", tls),
    ("trust", trust),
    ("undo", undo),
    ("variables", variables),
];

/// The binary of a decoder: under libFuzzer where it is built with `--cfg fuzzing`, else for the files that it is
/// given, to see again what libFuzzer found. Clippy looks at the former.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(any(fuzzing, clippy))]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$name(bytes));

        #[cfg(not(any(fuzzing, clippy)))]
        fn main() -> std::io::Result<()> {
            std::env::args_os().skip(1).try_for_each(|it| Ok($crate::$name(&std::fs::read(it)?)))
        }
    };
}

fn source(bytes: &[u8]) -> Source {
    Source::new("input", String::from_utf8_lossy(bytes))
}

/// What a client of the Model Context Protocol writes.
pub fn client_message(bytes: &[u8]) {
    flyto_mcp::fuzz::client_message(bytes);
}

/// A file of settings of the host.
///
/// # Panics
///
/// The file cannot be written.
pub fn configuration(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a directory for the file");
    let file = dir.path().join("config.json");
    std::fs::write(&file, bytes).expect("the file is ours");
    let surroundings = flyto_host::Surroundings::new(flyto_execenv::Environment::new(), "/");
    flyto_host::validate_path(&file, &surroundings).expect("the file is there");
}

/// A file of tool definitions.
pub fn exec_tools(bytes: &[u8]) {
    drop(flyto_exectool::load(&source(bytes)));
}

/// A JSON text: what is read here is what others read.
///
/// # Panics
///
/// The value is not the one that serde_json reads.
pub fn json(bytes: &[u8]) {
    let source = source(bytes);
    let Ok(value) = json::parse(&source) else { return };
    let other: Value = serde_json::from_str(source.text()).expect("what is read is JSON");
    assert_eq!(value.to_json(), other);
}

/// A `plugin.json`, looked at as closely as can be, and as a search does.
pub fn manifest(bytes: &[u8]) {
    let options = LoadOptions::new().depth(Depth::Full);
    let source = source(bytes);
    drop(flyto_plugin::load_source(&source, "/nonexistent/plugin", &options));
    flyto_plugin::fuzz::found_manifest(&source);
}

/// What a program of a plugin prints on stdout.
pub fn message(bytes: &[u8]) {
    flyto_plugin::fuzz::message(bytes);
}

/// The head of a request to the proxy of a confined program, in either of its protocols.
pub fn proxy(bytes: &[u8]) {
    #[cfg(target_os = "linux")]
    flyto_execenv_linux::fuzz::request(bytes);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// What a supervisor and its host say to each other.
pub fn records(bytes: &[u8]) {
    use flyto_supervision::{Order, Report, SelfMount, Setup};

    let _ = Setup::read(bytes);
    let _ = Report::read(bytes);
    let _ = Order::read(bytes);
    // As many as there are bytes for, and an end.
    assert!(SelfMount::all(bytes).count() <= bytes.len() + 1, "each takes a byte at least");
}

/// A JSON Schema and a value that is checked against it: the two items of an array.
pub fn schema(bytes: &[u8]) {
    let Ok(Value::Array(pair)) = serde_json::from_slice(bytes) else { return };
    let [schema, value] = &pair[..] else { return };
    if let Ok(validator) = flyto_tools::compile(schema) {
        drop(validator.check(value));
    }
}

/// A command with placeholders for `a` and `b`.
pub fn template(bytes: &[u8]) {
    let parameters = json!({"type": "object", "properties": {"a": {}, "b": {"type": "string"}}});
    let text = String::from_utf8_lossy(bytes);
    drop(ToolDef::template("input", &*text, parameters));
}

/// What a client says in a tunnel through the proxy.
pub fn tls(bytes: &[u8]) {
    #[cfg(target_os = "linux")]
    flyto_execenv_linux::fuzz::tls(bytes);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// The value of a declared variable.
pub fn variables(bytes: &[u8]) {
    let Ok(template) = flyto_execenv::Template::parse(&String::from_utf8_lossy(bytes)) else {
        return;
    };
    let host = [("A", "1"), ("HOME", "/home/flyto")].into_iter().collect();
    drop(template.expand(&host));
}
