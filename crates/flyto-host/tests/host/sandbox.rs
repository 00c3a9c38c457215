//! What a configuration says of sandboxes holds in every host.

use flyto_execenv::{
    Class, ExecEnv, Isolation, KillScope, Limits, Network, Policies, Policy, local::Local,
};
use flyto_host::{CallError, Flags, Host, load_config, permission::Caller};
use flyto_tools::{CallContext, Input, NativeTool, NoInput, ToolErrorKind};

use crate::world::{World, call};

/// A configuration whose programs run under this profile.
fn confined(profile: &str) -> World {
    let mut world = World::new().plugin("p", "echo ran >ran");
    let profile = world.config.sandbox.profile(profile).expect("every configuration has it");
    world.config.sandbox.use_for_all(&profile);
    world
}

#[tokio::test]
async fn a_profile_that_the_backend_cannot_keep_refuses_programs_and_nothing_else() {
    for profile in ["workspace", "strict"] {
        let world = confined(profile);
        let host = world.host();
        let native = NativeTool::builder("native", "Needs no program.")
            .run(|_: CallContext, _: NoInput| async { "done" })
            .expect("it is fine");
        host.add_tool("test", native).expect("it is new");

        let err = call(&host, "p:run", "{}").await.expect_err("refused");
        let CallError::Tool(err) = err else { panic!("{err}") };
        let kind =
            if profile == "strict" { ToolErrorKind::Unsupported } else { ToolErrorKind::Refused };
        assert_eq!(err.kind(), kind, "{}", err.chain());
        assert!(!world.path("plugins/p/ran").exists());
        assert_eq!(
            host.prepare("p:run", Input::empty())
                .expect("it is there")
                .outline()
                .confinement
                .expect("a program")
                .sandbox,
            [profile]
        );
        assert_eq!(call(&host, "native", "{}").await.expect("it runs").output, "done");
    }
}

#[tokio::test]
async fn a_profile_of_a_configuration_file_refuses_programs_of_a_host() {
    let world = World::new().plugin("p", "echo ran >ran");
    let text = format!(
        r#"{{"plugins": {{"enabled": true, "plugin_dirs": [{:?}]}}, "sandbox": "strict",
            "permissions": {{"allow": ["p:run"]}}}}"#,
        world.path("plugins").display().to_string()
    );
    world.write(".config/flyto/config.json", &text);
    let (config, findings) =
        load_config(&world.surroundings(), &Flags::default()).expect("it can be used");
    assert!(findings.is_empty(), "{findings:?}");
    let host = Host::new(ExecEnv::new(Local::new()), world.surroundings(), config);

    let err = call(&host, "p:run", "{}").await.expect_err("refused");
    let CallError::Tool(err) = err else { panic!("{err}") };
    assert_eq!(err.kind(), ToolErrorKind::Unsupported, "{}", err.chain());
    assert!(!world.path("plugins/p/ran").exists());
}

#[tokio::test]
async fn policies_of_the_handle_hold_beside_the_configuration() {
    let off = Policy::new().isolation(Isolation::new().network(Network::Off));
    let open = Policy::new().limits(Limits::new().output_bytes(1 << 20));
    let host = |world: &World, policy: Policy| {
        let policies = Policies::new().class(Class::PLUGIN_TOOL, policy);
        let env = ExecEnv::builder(Local::new()).policies(policies).build();
        Host::builder(env, world.surroundings(), world.config.clone())
            .caller(Caller::Operator)
            .build()
    };
    let named = |host: &Host| {
        host.prepare("p:run", Input::empty())
            .expect("it is there")
            .outline()
            .confinement
            .expect("a program")
            .sandbox
            .join(" ")
    };

    let refused = host(&World::new().plugin("p", "true"), off.clone());
    assert!(call(&refused, "p:run", "{}").await.is_err(), "the portable backend has networks");
    assert_eq!(named(&refused), "unnamed");
    assert_eq!(named(&host(&confined("strict"), off.profile("offline"))), "offline strict");

    let world = World::new().plugin("p", "echo ran >ran");
    let host = host(&world, open);
    call(&host, "p:run", "{}").await.expect("nothing is confined");
    let confinement = host
        .prepare("p:run", Input::empty())
        .expect("it is there")
        .outline()
        .confinement
        .expect("a program");
    assert_eq!(
        (confinement.sandbox.join(" "), confinement.kill),
        ("none".into(), KillScope::Group)
    );
    assert_eq!(confinement.limits.output_bytes, Some(1 << 20));
}
