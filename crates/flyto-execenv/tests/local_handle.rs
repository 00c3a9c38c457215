//! What the handle does for every backend, seen with programs: places in flight, policies, routing.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Capability, Class, Ending, ExecEnv, ExecError, ExecErrorKind, Executor, Exit,
    Isolation, KillScope, LimitKind, Limits, Network, Policies, Policy, RunOptions, Running, Spec,
    Stdin, local::Local,
};
use support::{ready, sh, text};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The local backend under another name.
#[derive(Debug)]
struct Other {
    local: Local,
    capabilities: Capabilities,
}

impl Other {
    fn new(name: &str) -> Self {
        let local = Local::new();
        let supported = local.capabilities().supported.iter().copied();
        let capabilities = Capabilities::new(name).with(supported.collect::<Vec<_>>());
        Self { local, capabilities }
    }
}

#[async_trait]
impl Executor for Other {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn preflight(&self, spec: &Spec) -> Result<(), ExecError> {
        self.local.preflight(spec).await
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        self.local.start(spec).await
    }
}

#[tokio::test]
async fn calls_beyond_the_places_wait_outside_their_deadlines() {
    let env = ExecEnv::builder(Local::new()).max_in_flight(NonZeroUsize::MIN).build();
    let (cancel, (observer, mut chunks)) = (CancellationToken::new(), mpsc::channel(16));
    let options = RunOptions::new().cancel(cancel.clone()).observer(observer);
    let first = env.run_with(sh("echo ready; exec sleep 100"), options);

    // One that waits and is let in, and one that is cancelled while it waits.
    let queue = async {
        ready(&mut chunks).await;
        let given_up = CancellationToken::new();
        let options = RunOptions::new().cancel(given_up.clone());
        // Its deadline would have passed long before its turn, if it ran while it waits.
        let second = env.run(sh("echo second").deadline(support::GUARD));
        let third = env.run_with(sh("echo third"), options);
        let events = async {
            tokio::task::yield_now().await;
            given_up.cancel();
            cancel.cancel();
        };
        tokio::join!(second, third, events)
    };
    let (first, (second, third, ())) = tokio::join!(first, queue);
    assert_eq!(first.expect("it runs").ending, Ending::Cancelled);
    let second = second.expect("it runs");
    assert_eq!(text(&second), "second\n");
    assert!(second.queued > Duration::ZERO);
    let third = third.expect("giving up is no error");
    assert_eq!((third.ending, third.exit), (Ending::Cancelled, None));
    assert_eq!((third.stdout.total_bytes, third.leaked, third.confirmed), (0, Some(0), true));
}

#[tokio::test]
async fn started_programs_take_no_place() {
    let env = ExecEnv::builder(Local::new()).max_in_flight(NonZeroUsize::MIN).build();
    let staying = sh("exec cat").stdin(Stdin::Piped);
    let process = env.start(staying, RunOptions::new()).await.expect("it starts");
    let outcome = env.run(sh("echo beside")).await.expect("it runs");
    assert_eq!(text(&outcome), "beside\n");
    drop(process);
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_runs_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let spec = sh("echo ran >ran").working_dir(dir.path());
    let outcome = support::env().run_with(spec, RunOptions::new().cancel(cancel)).await;
    let outcome = outcome.expect("giving up is no error");
    assert_eq!((outcome.ending, outcome.exit), (Ending::Cancelled, None));
    assert!(!dir.path().join("ran").exists());
}

#[tokio::test]
async fn each_class_runs_where_its_policy_says() {
    let policies = Policies::new()
        .class(Class::EVOLVE, Policy::new().executor("other"))
        .class(Class::USER_HOOK, Policy::new().executor("missing"));
    let env = ExecEnv::builder(Local::new())
        .executor("other", Other::new("elsewhere"))
        .policies(policies)
        .build();
    let backend = async |class| env.run(sh("exit 0").class(class)).await.map(|it| it.backend);
    assert_eq!(backend(Class::PLUGIN_TOOL).await.expect("the default one"), "local");
    assert_eq!(backend(Class::EVOLVE).await.expect("the named one"), "elsewhere");
    let err = backend(Class::USER_HOOK).await.expect_err("no fall-back");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Unsupported, false));
    assert_eq!(
        err.to_string(),
        r#"failed to find executor "missing", which the policy of user_hook names"#
    );
}

#[tokio::test]
async fn a_backend_can_be_chosen_at_run_time() {
    for elsewhere in [false, true] {
        let boxed: Box<dyn Executor> =
            if elsewhere { Box::new(Other::new("elsewhere")) } else { Box::new(Local::new()) };
        let shared: Arc<dyn Executor> = Arc::new(boxed);
        let name = shared.capabilities().backend.clone();
        let env = ExecEnv::builder(shared.clone()).executor("same", shared).build();
        let outcome = env.run(sh("echo x")).await.expect("it runs");
        assert_eq!((&*outcome.backend, &*outcome.stdout.bytes()), (&*name, &b"x\n"[..]));
        // What a backend knows beforehand reaches through both pointers.
        let err = env.preflight(Spec::new("/no/such/program")).await.expect_err("it is not there");
        assert_eq!(err.kind(), ExecErrorKind::ProgramNotFound);
    }
}

#[tokio::test]
async fn a_policy_binds_before_capabilities_are_compared() {
    let narrow = Policy::new().limits(Limits::new().output_bytes(10)).kill(KillScope::Group);
    let isolated = Policy::new().isolation(Isolation::new().network(Network::Off));
    let policies = Policies::new().class(Class::EVOLVE, isolated).other(narrow);
    let env = ExecEnv::builder(Local::new()).policies(policies).build();

    let outcome = env.run(sh("yes").kill(KillScope::Leader)).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::Output));
    assert!(outcome.enforced.contains(&Capability::GroupKill));

    let err = env.run(sh("exit 0").class(Class::EVOLVE)).await.expect_err("not offered");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Unsupported, false));
    assert_eq!(
        err.to_string(),
        r#"failed to start "/bin/sh": the local backend does not offer network-off"#,
    );
}

#[tokio::test]
async fn a_policy_that_refuses_starts_nothing() {
    // The reason counts before what the backend lacks.
    let refused =
        Policy::new().refuse("not here").isolation(Isolation::new().network(Network::Off));
    let policies = Policies::new().class(Class::EVOLVE, refused);
    let env = ExecEnv::builder(Local::new()).policies(policies).build();
    let dir = tempfile::tempdir().expect("a directory");
    let spec = sh("echo ran >ran").working_dir(dir.path()).class(Class::EVOLVE);

    let ran = env.run(spec.clone()).await.map(drop);
    let started = env.start(spec.clone(), RunOptions::new()).await.map(drop);
    let checked = env.check(spec.clone()).map(drop);
    for res in [ran, started, checked, env.preflight(spec.clone()).await] {
        let err = res.expect_err("refused");
        assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Refused, false));
        assert_eq!(err.to_string(), r#"failed to start "/bin/sh""#);
        assert_eq!(std::error::Error::source(&err).expect("why").to_string(), "not here");
    }
    assert!(!dir.path().join("ran").exists());
    env.run(spec.class(Class::PLUGIN_TOOL)).await.expect("the other classes run");
    assert!(dir.path().join("ran").exists());
}

#[tokio::test]
async fn a_check_answers_as_a_run_would_and_starts_nothing() {
    let env = support::env();
    let dir = tempfile::tempdir().expect("a directory");
    let spec = sh("echo ran >ran").working_dir(dir.path());
    assert_eq!(env.check(spec.clone()).expect("it is fine"), spec);
    let err = env.check(spec.kill(KillScope::Tree)).expect_err("not offered");
    assert_eq!(err.kind(), ExecErrorKind::Unsupported);
    assert!(!dir.path().join("ran").exists());

    let piped = sh("cat").stdin(Stdin::Piped);
    let err = env.run(piped).await.expect_err("`run` has nobody to write");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::InvalidSpec, false));
}

#[tokio::test]
async fn a_deadline_beyond_the_clock_is_none() {
    let outcome = support::env().run(sh("exit 5").deadline(Duration::MAX)).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(5)));
}

/// A composite tool calls a tool, which calls this: each level holds the future of the one below, and a thread of a test has 2 MiB of
/// stack for all of them, in a build without optimization.
#[tokio::test]
async fn the_future_of_a_call_is_small() {
    let env = support::env();
    let (run, start) = (env.run(sh("cat")), env.start(sh("cat"), RunOptions::new()));
    let (run, start) = (size_of_val(&run), size_of_val(&start));
    assert!(run <= 7_680 && start <= 3_584, "{run} and {start} bytes");
}
