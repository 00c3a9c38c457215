//! The example plugin in Rust, built as its README says and called in both lifetimes.

#![forbid(unsafe_code)]

use std::{
    fs, iter,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use expect_test::expect;
use flyto_execenv::{Environment, ExecEnv, Spec, local::Local};
use flyto_host::{Config, Host, Surroundings, permission::Caller};
use flyto_tools::{CallContext, Failure, Input, Progress, ToolResult};
use tempfile::TempDir;

/// Longer than any build of one small crate; a test that comes to it fails.
const PATIENCE: Duration = Duration::from_secs(300);

/// A copy of the example, which a build may write to.
fn copy() -> TempDir {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/rust-plugins/hasher");
    let dir = tempfile::tempdir().expect("a directory");
    let files = [
        "Cargo.lock",
        "Cargo.toml",
        "README.md",
        "call/plugin.json",
        "session/plugin.json",
        "src/hash.rs",
        "src/json.rs",
        "src/main.rs",
    ];
    for file in files {
        let target = dir.path().join(file);
        fs::create_dir_all(target.parent().expect("below the directory")).expect("created");
        fs::copy(example.join(file), target).expect("copied");
    }
    dir
}

/// Runs what the README says before anything is called.
async fn build(dir: &Path) {
    let readme = fs::read_to_string(dir.join("README.md")).expect("there is one");
    let (_, block) = readme.split_once("```sh\n").expect("it shows commands");
    let (build, _) = block.split_once("flyto ").expect("it shows calls");
    // The crate has no dependencies, so that nothing is looked for elsewhere.
    let mut env = Environment::ambient();
    env.set("CARGO_NET_OFFLINE", "true");
    // How the tests are built is no matter of this build.
    for name in ["CARGO_BUILD_TARGET", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"] {
        env.remove(name);
    }
    let cargo_dir = Path::new(env!("CARGO")).parent().expect("it lies in a directory");
    let path = env.get("PATH").unwrap_or_default().to_owned();
    let dirs = iter::once(cargo_dir.to_owned()).chain(std::env::split_paths(&path));
    env.set("PATH", std::env::join_paths(dirs).expect("no directory has a colon in its name"));
    let script = format!("set -e\n{build}");
    let spec = Spec::new("/bin/sh").args(["-c", &script]).env(env).working_dir(dir);
    let built = ExecEnv::new(Local::new()).run(spec.deadline(PATIENCE)).await.expect("it runs");
    assert!(built.success(), "{}", String::from_utf8_lossy(&built.stderr.bytes()));
}

fn host(dir: &Path) -> Host {
    let mut config = Config::default();
    config.plugins.enabled = true;
    config.plugins.plugin_dirs = vec![dir.join("call"), dir.join("session")];
    let env = [("PATH", "/usr/bin:/bin".as_ref()), ("HOME", dir.as_os_str())];
    let surroundings = Surroundings::new(env.into_iter().collect(), dir);
    let host = Host::builder(ExecEnv::new(Local::new()), surroundings, config)
        .caller(Caller::Operator)
        .build();
    assert_eq!(host.report().findings().count(), 0, "{:?}", host.report());
    host
}

async fn call(host: &Host, tool: &str, input: serde_json::Value, ctx: &CallContext) -> ToolResult {
    let input = Input::parse(input.to_string()).expect("JSON");
    host.call(tool, input, ctx).await.expect("it was tried")
}

#[tokio::test]
async fn one_program_serves_both_lifetimes() {
    let dir = copy();
    build(dir.path()).await;
    let nine = dir.path().join("nine.txt");
    fs::write(&nine, "123456789").expect("written");
    // Takes a while to read, and no space.
    let large = dir.path().join("large");
    fs::File::create(&large).and_then(|it| it.set_len(1 << 31)).expect("made");
    let host = host(dir.path());
    let expected = expect![[r#"
        cbf43926
        091e01de
        06d5573923c6cdfc
        invalid input: /x: unknown property; known: path, text and algorithm
        7bf82b2a
        error (code -32602): give exactly one of `text` and `path`
        DIR/nine.txt is as expected
        DIR/nine.txt differs: it has cbf43926
        error (code 1): not a regular file: DIR
    "#]];
    for plugin in ["hasher", "hasher-session"] {
        let inputs = [
            ("hash", serde_json::json!({"path": nine})),
            ("hash", serde_json::json!({"path": nine, "algorithm": "adler32"})),
            ("hash", serde_json::json!({"text": "123456789", "algorithm": "fnv1a"})),
            ("hash", serde_json::json!({"text": "\u{1f600} \\ \"\n", "x": 1})),
            ("hash", serde_json::json!({"text": "\u{1f600} \\ \"\n"})),
            ("hash", serde_json::json!({})),
            ("verify", serde_json::json!({"path": nine, "expected": "CBF43926"})),
            ("verify", serde_json::json!({"path": nine, "expected": "00000000"})),
            ("hash", serde_json::json!({"path": dir.path()})),
        ];
        let mut results = String::new();
        for (tool, input) in inputs {
            let ctx = CallContext::new();
            results += &call(&host, &format!("{plugin}:{tool}"), input, &ctx).await.output;
            results.push('\n');
        }
        expected.assert_eq(&results.replace(&*dir.path().to_string_lossy(), "DIR"));

        // A call that is cancelled as soon as it has told something.
        let told = Arc::new(Mutex::new(Vec::new()));
        let ctx = CallContext::new();
        let (sink, token) = (Arc::clone(&told), ctx.cancellation().clone());
        let ctx = ctx.with_progress(move |it: Progress| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(it.to_string());
            token.cancel();
        });
        let tool = format!("{plugin}:hash");
        let cancelled = call(&host, &tool, serde_json::json!({"path": large}), &ctx).await;
        assert_eq!(cancelled.failure, Some(Failure::Cancelled), "{}", cancelled.output);
        let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(told[0], "10% 214958080 of 2147483648 bytes");
        let next = call(&host, &tool, serde_json::json!({"text": "a"}), &CallContext::new()).await;
        assert_eq!(next.output, "e8b7be43");
    }
    host.close().await;
}
