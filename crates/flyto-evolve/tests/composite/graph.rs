//! Tools that would call each other, or be too deep, by any change of a definition.

use flyto_evolve::{Proposal, ProposalSource, Refusal};

use super::life::{Life, job};
use crate::ToolDefinition;

fn script(name: &str) -> ToolDefinition {
    ToolDefinition::script(name, format!("Says {name}."), format!("echo {name}\n"))
}

#[track_caller]
fn told(res: Result<impl std::fmt::Debug, Refusal>) -> String {
    res.expect_err("it is refused").to_string()
}

/// `yy` called `x1` in its version 1; now `x1` calls `yy`, and `yy` calls `z1`.
async fn turned_round() -> Life {
    let life = Life::new();
    for name in ["x1", "z1"] {
        life.apply(&script(name), None).await.unwrap();
    }
    life.apply(&job("yy", &["x1"]), None).await.unwrap();
    life.apply(&job("yy", &["z1"]), Some(1)).await.unwrap();
    life.apply(&job("x1", &["yy"]), Some(1)).await.unwrap();
    life
}

#[tokio::test]
async fn a_rollback_makes_no_cycle() {
    let life = turned_round().await;
    let why = told(life.builder.roll_back("yy", 1, "ada").await);
    assert!(why.contains("the tools call each other: yy -> x1 -> yy"), "{why}");
    assert_eq!(life.builder.store().last("yy").unwrap().unwrap().number, 2);
    assert!(life.call("x1", serde_json::json!({})).await.unwrap().failure.is_none());
    // The same with the tool archived, and by an import.
    life.builder.archive("yy", "ada").await.unwrap();
    let why = told(life.builder.roll_back("yy", 1, "ada").await);
    assert!(why.contains("yy -> x1 -> yy"), "{why}");
    let mut proposal = Proposal::of(&job("yy", &["x1"]), "ada")
        .distinct_because("a test")
        .source(ProposalSource::Imported { from: "elsewhere".into() });
    proposal.base = Some(3);
    let why = told(life.builder.apply(proposal).await);
    assert!(why.contains("yy -> x1 -> yy"), "{why}");
    // What ends is brought back.
    life.builder.restore("yy", "ada").await.unwrap();
}

#[tokio::test]
async fn a_restore_makes_no_cycle() {
    let life = turned_round().await;
    // By a process that looks at no tools.
    let store = life.builder.store();
    store.archive("x1", "ada").unwrap();
    store.roll_back("yy", 1, "ada").unwrap();
    store.archive("yy", "ada").unwrap();
    store.restore("x1", "ada").unwrap();
    let why = told(life.builder.restore("yy", "ada").await);
    assert!(why.contains("yy -> x1 -> yy"), "{why}");
}

#[tokio::test]
async fn no_change_below_makes_composites_too_deep() {
    let life = Life::new();
    for name in ["leaf", "inner"] {
        life.apply(&script(name), None).await.unwrap();
    }
    let mut below = "inner";
    for name in ["c1", "c2", "c3", "c4", "c5"] {
        life.apply(&job(name, &[below]), None).await.unwrap();
        below = name;
    }
    let why = told(life.apply(&job("inner", &["leaf"]), Some(1)).await);
    assert!(why.contains("more than 5 deep"), "{why}");
    life.builder.archive("c5", "ada").await.unwrap();
    life.apply(&job("inner", &["leaf"]), Some(1)).await.unwrap();
    let why = told(life.builder.restore("c5", "ada").await);
    assert!(why.contains("more than 5 deep"), "{why}");
}
