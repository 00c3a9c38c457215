//! Where the architecture has no supervisor, the contract holds with what is declared there, and
//! nothing more.

#![cfg(all(target_os = "linux", not(supervised), feature = "examine"))]

use std::io;

use flyto_execenv::{Capability, ExecEnv, Executor};
use flyto_execenv_linux::{
    KillMechanism, Linux,
    examine::{BY_DEFAULT, Layer, State, examine},
};

mod contract {
    use super::*;

    flyto_execenv::executor_conformance!(ExecEnv::new(Linux::for_one_call()));
}

#[test]
fn only_process_groups_are_ended() {
    for mechanism in [KillMechanism::Subreaper, KillMechanism::PidNamespace, KillMechanism::Cgroup]
    {
        let err = Linux::with_mechanism(mechanism).expect_err("it needs a supervisor");
        assert_eq!(err.kind(), io::ErrorKind::Unsupported, "{mechanism:?}: {err}");
    }
    let linux = Linux::with_mechanism(KillMechanism::Group).expect("it needs nothing");
    assert_eq!(linux.mechanism(), KillMechanism::Group);
    assert_eq!(linux.capabilities().backend, "linux");
    assert!(!linux.capabilities().has(Capability::TreeKill));
}

#[tokio::test]
async fn every_layer_says_that_nothing_uses_it() {
    let found = examine(&Linux::new()).await;
    let layers: Vec<Layer> = found.checks.iter().map(|it| it.layer).collect();
    assert_eq!(layers, Layer::ALL);
    assert!(found.checks.iter().all(|it| matches!(it.state, State::Fails(_))));
    assert_eq!(found.missing, BY_DEFAULT);
}
