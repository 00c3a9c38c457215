//! Finding out how a server speaks.

use flyto_mcp::{Revision, ServerStatus};
use serde_json::json;

use crate::support::World;

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
async fn a_revision_that_is_not_known_is_told() {
    let world = World::new(&["old"]).connected().await;
    let report = world.report();
    assert_eq!(report.status, ServerStatus::Failed);
    let problem = report.problem.expect("there is one");
    assert_eq!(problem, "it speaks the revision \"1999-01-01\", which is not known here");
    assert!(world.host.registry().snapshot().is_empty());
}
