//! A host in a program of another project runs nothing on laxer terms than its configuration says.

#![forbid(unsafe_code)]

use std::{fs, path::Path, time::Duration};

use expect_test::{Expect, expect};
use flyto_execenv::{ExecEnv, Spec, local::Local};

/// Runs the program in a project whose user has this configuration. Its tool writes `ran`.
async fn check(config: &str, ran: bool, expect: Expect) {
    let dir = tempfile::tempdir().expect("a directory");
    let (home, project) = (dir.path().join("home"), dir.path().join("project"));
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("below the directory")).expect("created");
        fs::write(path, text).expect("written");
    };
    let mut config: serde_json::Value = serde_json::from_str(config).expect("JSON");
    config["permissions"] = serde_json::json!({"allow": ["p:write"]});
    write(&home.join(".config/flyto/config.json"), &config.to_string());
    let out = home.join("ran").display().to_string();
    let manifest = serde_json::json!({"name": "p", "tools": [{
        "name": "write", "description": "Writes a file.",
        "command": "sh", "args": ["-c", "echo x >\"$1\" && echo written", "sh", out],
    }]});
    write(&project.join("fixtures/plugins/p/plugin.json"), &manifest.to_string());
    let spec = Spec::new(env!("CARGO_BIN_EXE_embedder"))
        .arg("p:write")
        .env([("PATH", "/usr/bin:/bin".as_ref()), ("HOME", home.as_os_str())].into_iter().collect())
        .working_dir(&project)
        .deadline(Duration::from_secs(60));
    let outcome = ExecEnv::new(Local::new()).run(spec).await.expect("it runs");
    assert!(outcome.success(), "{}", String::from_utf8_lossy(&outcome.stderr.bytes()));
    expect.assert_eq(&String::from_utf8_lossy(&outcome.stdout.bytes()));
    assert_eq!(home.join("ran").exists(), ran);
}

#[tokio::test]
async fn what_the_backend_cannot_keep_is_refused() {
    check(r#"{"sandbox": "strict"}"#, false, expect![[r#"
        p:write
        sandbox strict
        Unsupported: plugin tool "p:write" exec failed: failed to start "sh": the local backend does not offer network-off, local-sockets-off, filesystem-grants, filesystem-denials, filesystem-read-only, system-call-filter, process-isolation, own-shared-memory
    "#]]).await;
    let class = r#"{"sandbox": {"plugin_tool": "mine", "profiles": {"mine": {"network": "off", "extends": "none"}}}}"#;
    check(class, false, expect![[r#"
        p:write
        sandbox mine
        Unsupported: plugin tool "p:write" exec failed: failed to start "sh": the local backend does not offer network-off, filesystem-read-only
    "#]]).await;
}

#[tokio::test]
async fn without_a_profile_programs_run() {
    let of_others = r#"{"sandbox": {"evolve": "strict"}}"#;
    let expected = expect![[r#"
        p:write
        sandbox none
        result written

    "#]];
    check(of_others, true, expected).await;
}

/// The lines of the README's example.
#[test]
fn the_program_embeds_the_host_as_the_readme_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("it is there");
    let readme = read("../crates/flyto-host/README.md");
    let (_, example) = readme.split_once("let surroundings").expect("it has an example");
    let (example, _) = example.split_once("\nlet input").expect("it calls a tool");
    // Lines that only the README's own test has.
    let shown: Vec<_> = example.lines().filter(|it| !it.starts_with("# ")).collect();
    let example = shown.join("\n");
    let source = read("src/bin/embedder.rs");
    let (_, own) = source.split_once("let surroundings").expect("the program has it");
    let own: Vec<_> = own.lines().map(|it| it.strip_prefix("    ").unwrap_or(it)).collect();
    let own = own.join("\n");
    assert_eq!(&own[..example.len()], example);
}
