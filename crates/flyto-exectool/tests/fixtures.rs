//! The files in `fixtures/`: what loads, what does not, and that editors are told the same.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect;
use flyto_exectool::{load_file, schema};

fn files(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(dir);
    let entries = fs::read_dir(&dir).expect("the fixtures are there");
    let mut res: Vec<_> = entries.map(|it| it.expect("readable").path()).collect();
    res.retain(|it| it.extension() == Some(OsStr::new("json")));
    res.sort();
    assert!(!res.is_empty(), "{dir:?}");
    res
}

/// What an editor would say; `None` for text that is no JSON.
fn fits_the_schema(file: &Path) -> Option<bool> {
    let validator = jsonschema::validator_for(&schema::exec_tool()).expect("a schema");
    let document = serde_json::from_slice(&fs::read(file).expect("readable")).ok()?;
    Some(validator.is_valid(&document))
}

#[test]
fn good_files_load_without_a_finding_and_fit_the_schema() {
    for file in files("exec-tools") {
        let loaded = load_file(&file);
        assert!(loaded.tools.is_some(), "{file:?}");
        let findings: Vec<_> = loaded.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(fits_the_schema(&file), Some(true), "{file:?}");
    }
}

#[test]
fn bad_files_have_findings() {
    let mut fit_all_the_same = String::new();
    for file in files("bad/exec-tools") {
        let loaded = load_file(&file);
        assert!(!loaded.findings.is_empty(), "{file:?}");
        assert_eq!(loaded.tools.is_none(), loaded.findings.has_errors(), "{file:?}");
        if fits_the_schema(&file) == Some(true) {
            let name = file.file_name().expect("listed").to_string_lossy();
            fit_all_the_same += &format!("{name}\n");
        }
    }
    // What no schema can say: what the parser of the document hides, or compares two parts of it.
    expect![[r#"
        duplicate-key.json
        duplicate-names.json
        schema-with-unknown-type.json
    "#]]
    .assert_eq(&fit_all_the_same);
}
