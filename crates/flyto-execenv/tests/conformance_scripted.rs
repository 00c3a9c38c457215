//! The contract on the in-memory backend, which sees at the same time that the handle keeps its side.

#![cfg(all(feature = "scripted", feature = "conformance"))]

use flyto_execenv::{
    Capability, ExecEnv, Executor,
    conformance::{Probe, in_memory_probe, run_all},
    scripted::Scripted,
};
use tokio::task::JoinSet;

flyto_execenv::executor_conformance!(ExecEnv::new(in_memory_probe(Scripted::new())));

#[tokio::test]
async fn the_handle_keeps_the_contract_in_every_case() {
    let backend = in_memory_probe(Scripted::new());
    let report = run_all(&ExecEnv::new(backend.clone()), &Probe::posix_sh()).await;
    let report = report.expect("the backend is there");
    assert!(report.failed().is_empty(), "{report}");
    backend.assert_clean();
}

/// Each capability that can be withdrawn is refused then, and all else still holds.
#[tokio::test]
async fn every_refusal_is_tested_as_well() {
    let mut suites = JoinSet::new();
    for capability in declared() {
        suites.spawn(async move {
            let backend = in_memory_probe(Scripted::new().without(capability));
            let report = run_all(&ExecEnv::new(backend.clone()), &Probe::posix_sh()).await;
            let report = report.expect("the backend is there");
            assert!(report.failed().is_empty(), "without {capability}: {report}");
            backend.assert_clean();
        });
    }
    while let Some(joined) = suites.join_next().await {
        joined.expect("the suite passes");
    }
}

fn declared() -> Vec<Capability> {
    Scripted::new().capabilities().supported.iter().copied().collect()
}
