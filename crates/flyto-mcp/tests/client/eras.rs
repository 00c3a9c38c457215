//! Finding out how a server speaks.

use std::fs;

use flyto_mcp::{Revision, ServerStatus};
use flyto_tools::Failure;
use serde_json::json;

use crate::support::{World, little, options};

#[tokio::test]
async fn servers_of_both_eras_are_recognised() {
    for (modes, revision) in [
        (&["modern"][..], Revision::LATEST),
        (&[], Revision::LATEST_LEGACY),
        // It is started again, for the handshake.
        (&["exits"], Revision::LATEST_LEGACY),
        // It is asked again over the same connection.
        (&["silent"], Revision::LATEST_LEGACY),
        // It takes long to load, and refuses the handshake that it is sent meanwhile.
        (&["late", "modern"], Revision::LATEST),
    ] {
        let world = World::new(modes).connected().await;
        let report = world.report();
        assert_eq!((report.status, report.problem), (ServerStatus::Connected, None), "{modes:?}");
        assert_eq!((report.revision, &*report.version), (Some(revision), "1.2"), "{modes:?}");
        assert_eq!(world.text("echo", json!({"text": "a"})).await, "a", "{modes:?}");
        assert!(world.servers.close().await.is_empty(), "{modes:?}");
    }
}

#[tokio::test]
async fn what_was_agreed_on_comes_first_the_next_time() {
    for mode in ["silent", "exits"] {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        let mut declared = little(&[mode]);
        declared["env"] = json!({"LOG": log});
        let servers = json!({"s": declared});
        let world = World::with(servers.clone(), options(), None).connected().await;
        assert_eq!(world.report().revision, Some(Revision::LATEST_LEGACY), "{mode}");
        world.servers.close().await;
        fs::remove_file(&log).expect("it was asked");
        let world = world.again(servers);
        assert_eq!(world.text("echo", json!({"text": "a"})).await, "a", "{mode}");
        let methods = fs::read_to_string(&log).expect("it was asked");
        assert!(methods.starts_with("initialize\n"), "{mode}: {methods}");
        assert!(!methods.contains("server/discover"), "{mode}: {methods}");
    }
}

#[tokio::test]
async fn a_server_that_changed_its_era_is_asked_again() {
    let mut world = World::new(&[]).connected().await;
    for (modes, revision) in [(&["modern"][..], Revision::LATEST), (&[], Revision::LATEST_LEGACY)] {
        world.servers.close().await;
        world = world.again(json!({"s": little(modes)})).connected().await;
        let report = world.report();
        assert_eq!((report.revision, report.problem), (Some(revision), None), "{modes:?}");
    }
}

#[tokio::test]
async fn the_start_of_a_server_is_no_time_of_its_call() {
    let mut declared = little(&["slow"]);
    declared["timeout_seconds"] = json!(1);
    let world = World::with(json!({"s": declared.clone()}), options(), None).connected().await;
    world.servers.close().await;
    // The server takes longer to start than a call may take.
    let world = world.again(json!({"s": declared}));
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
    let result = world.call("never", json!({})).await.expect("a result");
    assert!(matches!(result.failure, Some(Failure::TimedOut { .. })), "{:?}", result.failure);
}

#[tokio::test]
async fn a_revision_that_is_not_known_is_told() {
    let world = World::new(&["old"]).connected().await;
    let report = world.report();
    assert_eq!(report.status, ServerStatus::Failed);
    let problem = report.problem.expect("there is one");
    assert_eq!(problem, "it speaks the revision \"1999-01-01\", which is not known here");
    assert!(world.host.registry().snapshot().is_empty());
}
