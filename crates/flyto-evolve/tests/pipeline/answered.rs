//! Proposals that wait, and are answered in another process.

use flyto_evolve::{Answer, Applied, Proposal, Refusal, ToolBuilder};

use super::{Bench, def};

async fn stage(bench: &Bench, builder: &ToolBuilder, script: &str) -> Result<String, Refusal> {
    bench.approver.answers(Answer::Later);
    match builder.apply(Proposal::of(&def(&script.replace(' ', "_"), script), "s")).await? {
        Applied::Staged { id } => Ok(id),
        other => panic!("it does not wait: {other:?}"),
    }
}

fn limited(max: u32) -> Bench {
    Bench::made(flyto_execenv::ExecEnv::new(flyto_execenv::local::Local::new()), |it| {
        it.max_per_session(max)
    })
}

#[tokio::test]
async fn a_proposal_that_waits_has_a_place_until_it_is_denied() {
    let bench = limited(2);
    let first = stage(&bench, &bench.builder, "uptime").await.unwrap();
    let second = stage(&bench, &bench.builder, "whoami").await.unwrap();
    let refused = stage(&bench, &bench.builder, "date -u").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "this session may make 2 tools, and 2 of them wait for a person"
    );

    let (_, person) = bench.again();
    // The refusal asked no person.
    bench.approver.clear();
    assert!(matches!(person.resume(&first).await.unwrap(), Applied::Saved(_)));
    assert!(matches!(
        stage(&bench, &bench.builder, "date -u").await.unwrap_err(),
        Refusal::SessionLimit { limit: 2, n_waiting: 1 }
    ));

    let (_, person) = bench.again();
    bench.approver.clear();
    bench.approver.answers(Answer::Deny { reason: "use id".into() });
    assert!(matches!(person.resume(&second).await, Err(Refusal::Denied { .. })));
    let third = stage(&bench, &bench.builder, "date -u").await.unwrap();

    // In the session itself, what waits has its place too.
    assert!(matches!(bench.builder.resume(&third).await.unwrap(), Applied::Saved(_)));
    assert!(matches!(
        stage(&bench, &bench.builder, "hostname").await.unwrap_err(),
        Refusal::SessionLimit { limit: 2, n_waiting: 0 }
    ));
}

#[tokio::test]
async fn the_same_text_has_one_place() {
    let bench = limited(2);
    let first = stage(&bench, &bench.builder, "uptime").await.unwrap();
    assert_eq!(stage(&bench, &bench.builder, "uptime").await.unwrap(), first);
    stage(&bench, &bench.builder, "whoami").await.unwrap();
}
