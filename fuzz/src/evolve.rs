//! What a store of evolved tools holds, and what other stores and other programs hand to one.

use std::{fs, path::Path};

use flyto_diagnostics::Source;
use flyto_evolve::{Store, ToolDefinition, import, import_skill, parse, parse_proposal};
use serde_json::{Value, json};

/// The name of the only tool in the store.
const TOOL: &str = "t";

/// A definition: as a store has it, as an agent proposes it, and as another store exported it.
///
/// # Panics
///
/// What is written of a definition is read as another one.
pub fn definition(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new("input", &*text);
    let read = [parse(&source).definition, parse_proposal(&source).definition];
    for definition in read.into_iter().flatten() {
        let written = Source::new("written", definition.file_text());
        let again = parse(&written).definition.expect("what is written can be read");
        assert_eq!(again.hash(), definition.hash());
    }
    drop(import(&text, "input", "fuzz"));
}

/// A command with placeholders for `a` and `b`.
pub fn evolve_command(bytes: &[u8]) {
    let parameters = json!({"type": "object", "properties": {"a": {}, "b": {"type": "string"}}});
    let text = String::from_utf8_lossy(bytes);
    let definition = ToolDefinition::command(TOOL, "Tests.", text).with_input_schema(parameters);
    drop(parse_proposal(&Source::new("input", definition.file_text())));
}

/// The files of a store, with a NUL byte between them: a version, the current definition, a recorded call, a proposal that
/// waits, statistics, pins. The version is read as it is, and with the hash of its definition.
///
/// # Panics
///
/// The store holds more than one tool, or a file cannot be written.
pub fn evolve_store(bytes: &[u8]) {
    let files: Vec<&[u8]> = bytes.splitn(FILES.len(), |it| *it == 0).collect();
    check_store(&files);
    if let Some(version) = with_its_hash(files[0]) {
        let mut files = files;
        files[0] = &version;
        check_store(&files);
    }
}

const FILES: [&str; 6] = [
    "history/t/000001.json",
    "tools/t.json",
    "calls/t/0.json",
    "pending/t-0.json",
    "usage.json",
    "pins.json",
];

fn check_store(files: &[&[u8]]) {
    let temp = tempfile::tempdir().expect("a directory for the files");
    for (path, content) in FILES.iter().zip(files) {
        write(&temp.path().join(path), content);
    }
    let store = Store::new(temp.path());
    if let Ok(loaded) = store.load() {
        assert!(loaded.active.len() + loaded.archived.len() <= 1, "there is one name");
    }
    drop(store.history(TOOL));
    drop(store.calls(TOOL, 5));
    drop(store.pending());
    drop(store.usage());
    drop(store.pins());
}

/// A version whose hash fits; `None` where it has no definition.
fn with_its_hash(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut record: Value = serde_json::from_slice(bytes).ok()?;
    let text = record.get("definition")?.to_string();
    let definition = parse(&Source::new("input", text)).definition?;
    record["sha256"] = definition.hash().to_string().into();
    Some(record.to_string().into_bytes())
}

/// The `SKILL.md` of a folder with a script, and behind a NUL byte the schema of its input.
///
/// # Panics
///
/// A file cannot be written.
pub fn skill(bytes: &[u8]) {
    let temp = tempfile::tempdir().expect("a directory for the folder");
    // A skill has the name of its folder.
    let dir = temp.path().join("count-words");
    let mut files = bytes.splitn(2, |it| *it == 0);
    write(&dir.join("SKILL.md"), files.next().unwrap_or_default());
    write(&dir.join("scripts/run.sh"), b"wc -w\n");
    if let Some(schema) = files.next() {
        write(&dir.join("references/input_schema.json"), schema);
    }
    if let Ok(proposal) = import_skill(&dir, "fuzz") {
        drop(parse_proposal(&Source::new("input", proposal.text)));
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it is ours");
    fs::write(path, content).expect("the file is ours");
}
