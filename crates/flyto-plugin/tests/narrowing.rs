//! What a tool asks for itself narrows what its program may do, and never widens it.

use std::path::Path;

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_execenv::{
    Class, Environment, ExecEnv, Filesystem, Isolation, Limits, Network, Policies, Policy,
    local::Local,
};
use flyto_plugin::{
    Depth, Grant, LoadOptions, PluginConfig, PluginContext, PluginTool, ToolDef, load_source,
};
use flyto_tools::{CallContext, Input, Tool, ToolErrorKind};
use tempfile::TempDir;

/// The tool of a manifest with these members, or what is said about it.
fn read(members: &str) -> Result<ToolDef, String> {
    let text = format!(
        r#"{{"name": "p", "tools": [{{"name": "t", "description": "x", "command": "true"{members}}}]}}"#
    );
    let options = LoadOptions::new().depth(Depth::Quick).path("/bin:/usr/bin");
    let loaded = load_source(&Source::new("plugin.json", text), Path::new("/"), &options);
    let findings: Vec<_> = loaded.findings.iter().map(|it| it.message.clone()).collect();
    match loaded.plugin.as_ref().and_then(|it| it.tools().first()) {
        Some(tool) if findings.is_empty() => Ok(tool.clone()),
        _ => Err(findings.join("; ")),
    }
}

#[track_caller]
fn check(members: &str, expect: Expect) {
    let shown = match read(members) {
        Ok(def) => format!("{:?} {:?}", def.network, def.sandbox),
        Err(findings) => findings,
    };
    expect.assert_eq(&shown);
}

#[test]
fn a_manifest_asks_for_less_only() {
    check("", expect!["None None"]);
    check(r#", "network": "off", "sandbox": "strict""#, expect![[r#"Some(Off) Some("strict")"#]]);
    check(
        r#", "network": ["a.org", "*.b.org:443"]"#,
        expect![[
            r#"Some(Hosts([HostPattern { hosts: Name("a.org"), port: None }, HostPattern { hosts: Below("b.org"), port: Some(443) }])) None"#
        ]],
    );
    check(r#", "network": "on""#, expect![["a tool cannot ask for the network"]]);
    check(
        r#", "network": ["a b"]"#,
        expect![[
            r#"failed to read the host "a b": a host is a name such as `example.org`, or an address"#
        ]],
    );
    check(r#", "sandbox": """#, expect![[r#""sandbox" is blank and counts as left out"#]]);
}

/// A host without a profile for its tools, but for these that tools can ask for.
fn context(policies: Policies, profile: Option<Policy>) -> PluginContext {
    let env = ExecEnv::builder(Local::new()).policies(policies).build();
    let host_env: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
    PluginContext::new(env, host_env)
        .profiles(move |name| profile.clone().filter(|_| name == "mine"))
}

fn tool(dir: &TempDir, ctx: PluginContext, change: impl FnOnce(&mut ToolDef)) -> PluginTool {
    let mut def = ToolDef::argv("t", "sh", ["-c", "echo ran >ran"]);
    change(&mut def);
    PluginTool::new(def, dir.path(), "p", ctx)
}

#[test]
fn what_a_tool_asks_for_holds_beside_its_class() {
    let dir = tempfile::tempdir().expect("a directory");
    let hosts = |names: &[&str]| {
        Network::Hosts(names.iter().map(|it| it.parse().expect("a pattern")).collect())
    };
    let class = Policies::new().other(
        Policy::new()
            .isolation(Isolation::new().network(hosts(&["a.org", "b.org"])))
            .profile("class"),
    );
    let limited = Policy::new().limits(Limits::new().processes(5)).profile("mine");
    let asks = |network: Option<Network>, sandbox: bool| {
        tool(&dir, context(class.clone(), Some(limited.clone())), |def| {
            def.network = network;
            def.sandbox = sandbox.then(|| "mine".to_owned());
        })
    };
    assert_eq!(asks(None, false).isolation().network, hosts(&["a.org", "b.org"]));
    assert_eq!(
        asks(Some(hosts(&["b.org", "c.org"])), false).isolation().network,
        hosts(&["b.org"])
    );
    assert_eq!(asks(Some(Network::Off), false).isolation().network, Network::Off);
    // A definition that a host makes by itself opens nothing either.
    assert_eq!(asks(Some(Network::Host), false).isolation().network, hosts(&["a.org", "b.org"]));
    let both = asks(None, true);
    assert_eq!(
        (both.limits().processes, both.profiles().join(" ")),
        (Some(5), "mine class".into())
    );
}

#[test]
fn a_grant_opens_what_the_profile_closes_and_not_what_the_tool_closes() {
    let dir = tempfile::tempdir().expect("a directory");
    let closed = Filesystem::Grants { read: ["/usr".into()].into(), write: [].into() };
    let profile = Isolation::new().network(Network::Off).filesystem(closed);
    let mut config = PluginConfig::default();
    let mut grant = Grant::new();
    grant.network = Some(Network::Host);
    grant.read.push("/srv/models".into());
    config.grants.insert("p".to_owned(), grant);
    let ctx = context(Policies::new(), Some(Policy::new().isolation(profile))).grants(&config);
    let asks = |network: Option<Network>| {
        let tool = tool(&dir, ctx.clone(), |def| {
            def.sandbox = Some("mine".to_owned());
            def.network = network;
        });
        tool.isolation()
    };
    let isolation = asks(None);
    assert_eq!(isolation.network, Network::Host);
    let Filesystem::Grants { read, .. } = &isolation.filesystem else { panic!("some paths") };
    let own = dir.path().to_owned();
    assert_eq!(read.to_vec(), ["/usr".into(), "/srv/models".into(), own]);
    assert_eq!(asks(Some(Network::Off)).network, Network::Off);
}

#[tokio::test]
async fn what_is_asked_for_is_required() {
    let dir = tempfile::tempdir().expect("a directory");
    let check = async |change: fn(&mut ToolDef), part: &str| {
        let tool = tool(&dir, context(Policies::new(), None), change);
        let err = tool.execute(&CallContext::new(), Input::empty()).await.expect_err("refused");
        assert_eq!(err.kind(), ToolErrorKind::Unsupported);
        assert!(err.chain().contains(part), "{}", err.chain());
        let preview = tool.preview(&Input::empty()).expect("a program");
        assert!(preview.problems.iter().any(|it| it.text.contains(part)), "{:?}", preview.problems);
    };
    check(|def| def.network = Some(Network::Off), "does not offer network-off").await;
    check(|def| def.sandbox = Some("absent".into()), "find the sandbox profile \"absent\"").await;
    assert!(!dir.path().join("ran").exists());
}

/// Policies of hosts name it, so it is part of the interface.
#[tokio::test]
async fn the_class_of_plugin_tools_has_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = Policies::new().class(Class::new("plugin_tool"), Policy::new().refuse("by name"));
    let tool = tool(&dir, context(refused, None), |_| {});
    let err = tool.execute(&CallContext::new(), Input::empty()).await.expect_err("refused");
    assert!(err.chain().ends_with("by name"), "{}", err.chain());
}
