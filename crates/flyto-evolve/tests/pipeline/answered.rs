//! Proposals that wait, and are answered in another process.

use std::{sync::Arc, time::Duration};

use flyto_evolve::{
    Answer, Applied, Approver, ApproverError, Decision, Proposal, Refusal, Review, ToolBuilder,
};
use flyto_execenv::{ExecEnv, local::Local};
use tokio::sync::Notify;

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

/// Says that it is asked, and saves when it is told to.
#[derive(Debug, Default)]
struct Held {
    is_asked: Notify,
    may_answer: Notify,
}

#[async_trait::async_trait]
impl Approver for Held {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        self.is_asked.notify_one();
        self.may_answer.notified().await;
        Ok(Decision::new(Answer::Save, "ada"))
    }
}

#[tokio::test]
async fn proposals_at_one_time_make_no_more_tools_than_the_session_may_have() {
    let held = Arc::new(Held::default());
    let approver = Arc::clone(&held);
    let bench =
        Bench::made(ExecEnv::new(Local::new()), |it| it.max_per_session(1).approver(approver));
    let begin = |name: &'static str| {
        let builder = bench.builder.clone();
        // One that is asked where it is to be refused would wait for ever.
        let most = Duration::from_secs(60);
        tokio::spawn(async move {
            let proposal = Proposal::of(&def(name, name), "s");
            tokio::time::timeout(most, builder.apply(proposal)).await.expect("it is decided")
        })
    };
    let first = begin("uptime");
    held.is_asked.notified().await;
    let refused = begin("whoami").await.unwrap().unwrap_err();
    assert!(matches!(refused, Refusal::SessionLimit { limit: 1, n_waiting: 1 }), "{refused}");
    // A call that is cancelled while it is asked about gives its place back.
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let second = begin("whoami");
    held.is_asked.notified().await;
    held.may_answer.notify_one();
    assert!(matches!(second.await.unwrap(), Ok(Applied::Saved(_))));
    let refused = begin("hostname").await.unwrap().unwrap_err();
    assert!(matches!(refused, Refusal::SessionLimit { limit: 1, n_waiting: 0 }), "{refused}");
}

#[tokio::test]
async fn the_same_text_has_one_place() {
    let bench = limited(2);
    let first = stage(&bench, &bench.builder, "uptime").await.unwrap();
    assert_eq!(stage(&bench, &bench.builder, "uptime").await.unwrap(), first);
    stage(&bench, &bench.builder, "whoami").await.unwrap();
}
