//! Proposals that wait for a person.

use std::sync::atomic::{AtomicBool, Ordering};

use flyto_evolve::{
    Answer, Approver, ApproverError, Decision, MAX_PENDING_OF_TOOL, ProposalSource, RecoveredKind,
    Review, Stage, StoreError,
};

use tokio::sync::Notify;

use super::*;

/// The id under which a definition waits.
async fn staged(bench: &Bench, def: &ToolDefinition, base: Option<u64>) -> Result<String, Refusal> {
    let mut proposal = Proposal::of(def, "session-1");
    proposal.base = base;
    bench.approver.answers(Answer::Later);
    match bench.builder.apply(proposal).await? {
        Applied::Staged { id } => Ok(id),
        other => panic!("it does not wait: {other:?}"),
    }
}

#[tokio::test]
async fn a_text_waits_once_under_whatever_name() {
    let bench = Bench::new();
    let first = staged(&bench, &def("report", "date -u\n"), None).await.unwrap();
    // Blanks and comments make no other text.
    let twin = staged(&bench, &def("summary", "# The time.\n\ndate   -u\n"), None).await.unwrap();
    assert_eq!(twin, first);
    let again = staged(&bench, &def("report", "date -u\n"), None).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(bench.store().pending().unwrap().len(), 1);
    assert!(bench.holds("waits_already"));
    // The same tool with other words is another proposal.
    let mut mended = def("report", "date -u\n");
    mended.description = "Tells the time of day in Greenwich.".into();
    assert_ne!(staged(&bench, &mended, None).await.unwrap(), first);
}

#[tokio::test]
async fn what_is_saved_waits_no_longer_where_it_was_proposed_before() {
    let bench = Bench::new();
    let id = staged(&bench, &def("report", "date -u\n"), None).await.unwrap();
    let version = bench.save(&def("report", "date -u\n"), None).await;
    assert_eq!(version.decides.as_ref(), Some(&id));
    let files = std::fs::read_dir(bench.store().dir().join("pending")).unwrap();
    assert_eq!(files.count(), 0);
    // No process was stopped, so the next one has nothing to put in order.
    assert_eq!(bench.builder.load_all().await.unwrap().recovered, []);
}

#[tokio::test]
async fn what_agents_propose_keeps_no_person_out() {
    let bench = Bench::made(ExecEnv::new(Local::new()), |it| it.max_per_session(20));
    bench.save(&def("report", "echo first\n"), None).await;
    for n in 0..MAX_PENDING_OF_TOOL {
        let next = def("report", &format!("echo proposal {n}\n"));
        staged(&bench, &next, Some(1)).await.unwrap();
    }
    let from = "a folder".to_owned();
    for source in [ProposalSource::Person, ProposalSource::Imported { from }] {
        let own = def("report", &format!("echo {source:?}\n"));
        let proposal = Proposal::of(&own, "ada").based_on(1).source(source);
        bench.approver.answers(Answer::Later);
        assert!(matches!(bench.builder.apply(proposal).await, Ok(Applied::Staged { .. })));
    }
    assert_eq!(bench.store().pending().unwrap().len(), MAX_PENDING_OF_TOOL + 2);
    // Those of people have a bound as well, and take no place of an agent.
    for n in 2..=MAX_PENDING_OF_TOOL {
        let own = def("report", &format!("echo own {n}\n"));
        let proposal = Proposal::of(&own, "ada").based_on(1).source(ProposalSource::Person);
        bench.approver.answers(Answer::Later);
        let res = bench.builder.apply(proposal).await.map_err(|it| it.stage());
        let expected = if n < MAX_PENDING_OF_TOOL { None } else { Some(Stage::Limits) };
        assert_eq!(res.err(), expected);
    }
    let refusal = staged(&bench, &def("report", "echo more\n"), Some(1)).await.unwrap_err();
    assert_eq!(refusal.stage(), Stage::Limits);
}

#[tokio::test]
async fn an_outdated_proposal_gives_way() {
    let bench = Bench::made(ExecEnv::new(Local::new()), |it| it.max_per_session(20));
    bench.save(&def("report", "echo first\n"), None).await;
    let mut ids = Vec::new();
    for n in 0..MAX_PENDING_OF_TOOL {
        let next = def("report", &format!("echo proposal {n}\n"));
        ids.push(staged(&bench, &next, Some(1)).await.unwrap());
    }
    // None of them is outdated, so each has its place.
    let further = def("report", "echo one more\n");
    let refusal = staged(&bench, &further, Some(1)).await.unwrap_err();
    assert_eq!(refusal.stage(), Stage::Limits);
    // The version on which they are based is gone by.
    bench.save(&def("report", "echo second\n"), Some(1)).await;
    let id = staged(&bench, &further, Some(2)).await.unwrap();
    let waiting: Vec<_> = bench.store().pending().unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(waiting.len(), MAX_PENDING_OF_TOOL);
    assert!(waiting.contains(&id) && !waiting.contains(&ids[0]), "{waiting:?}");
    assert!(bench.holds("\"gives_way_to\""));
}

#[tokio::test]
async fn a_torn_proposal_is_told_and_set_aside() {
    let bench = Bench::new();
    let id = staged(&bench, &def("report", "date -u\n"), None).await.unwrap();
    let path = bench.store().dir().join("pending").join(format!("{id}.json"));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let loaded = bench.store().load().unwrap();
    assert_eq!(loaded.damaged.iter().map(|it| &it.path).collect::<Vec<_>>(), [&path]);

    let report = bench.again().1.load_all().await.unwrap();
    let [recovered] = &report.recovered[..] else { panic!("{report:?}") };
    let RecoveredKind::ProposalSetAside { id: of, path: aside, .. } = &recovered.kind else {
        panic!("{recovered:?}")
    };
    assert_eq!((of, recovered.name.as_str()), (&id, "report"));
    assert_eq!(std::fs::read(aside).unwrap(), bytes[..bytes.len() / 2]);
    assert!(recovered.to_string().contains("propose it again"), "{recovered}");
    assert!(!path.exists());
    // It is told until a person removes it, and its place is free.
    let report = bench.again().1.load_all().await.unwrap();
    assert_eq!((report.recovered.len(), &report.set_aside), (0, &vec![aside.clone()]));
    assert_eq!(bench.store().damaged_proposals().unwrap()[0].path, *aside);
    assert_eq!(staged(&bench, &def("report", "date -u\n"), None).await.unwrap(), id);
}

#[tokio::test]
async fn an_answer_to_a_text_that_waits_as_well_is_one_to_both() {
    let bench = Bench::made(ExecEnv::new(Local::new()), |it| it.max_per_session(3));
    let proposed =
        |script: &str| Proposal::of(&def(&script.replace(' ', "_"), script), "session-1");
    for script in ["date -u", "uptime"] {
        staged(&bench, &def(&script.replace(' ', "_"), script), None).await.unwrap();
        // It is saved by a proposal of its own, and has its one place.
        bench.approver.clear();
        assert!(matches!(bench.builder.apply(proposed(script)).await.unwrap(), Applied::Saved(_)));
        assert!(bench.store().pending().unwrap().is_empty(), "{script}");
    }
    bench.builder.apply(proposed("hostname")).await.unwrap();
    let refused = bench.builder.apply(proposed("arch")).await.unwrap_err();
    assert!(matches!(refused, Refusal::SessionLimit { limit: 3, n_waiting: 0 }), "{refused}");

    let bench = Bench::made(ExecEnv::new(Local::new()), |it| it.max_per_session(2));
    for n in 0..2 {
        let id = staged(&bench, &def("date_-u", "date -u"), None).await.unwrap();
        bench.approver.answers(Answer::Deny { reason: "no".into() });
        let refused = bench.builder.apply(proposed("date -u")).await.unwrap_err();
        assert!(matches!(refused, Refusal::Denied { .. }), "{n}: {refused}");
        assert!(matches!(bench.store().pending_one(&id), Err(StoreError::NotFound { .. })), "{n}");
    }
    // Each of them was one denial, and a third question is none.
    let n_seen = bench.approver.n_seen();
    assert!(bench.builder.apply(proposed("date -u")).await.is_err());
    assert_eq!(bench.approver.n_seen(), n_seen);
    bench.approver.clear();
    assert!(matches!(bench.builder.apply(proposed("uptime")).await.unwrap(), Applied::Saved(_)));
}

/// An approver who asks by the channel of a call.
#[derive(Debug)]
struct OfCalls(Arc<Channel>);

/// A channel whose person says nothing, or answers as scripted.
#[derive(Debug, Default)]
struct Channel {
    is_silent: AtomicBool,
    asked: Notify,
    answers: Scripted,
}

#[async_trait::async_trait]
impl Approver for OfCalls {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        Err(ApproverError::new("a proposal outside of a call"))
    }

    fn within(&self, _: &CallContext) -> Option<Arc<dyn Approver>> {
        Some(Arc::clone(&self.0) as _)
    }
}

#[async_trait::async_trait]
impl Approver for Channel {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        self.asked.notify_one();
        if self.is_silent.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.answers.review(review).await
    }
}

#[tokio::test]
async fn what_a_call_asks_about_waits_when_its_client_goes() {
    let channel = Arc::new(Channel::default());
    let approver = Arc::new(OfCalls(Arc::clone(&channel)));
    let bench =
        Bench::made(ExecEnv::new(Local::new()), |it| it.approver(approver).max_per_session(2));
    let propose = || Proposal::of(&def("say", "echo one\n"), "session-1");
    let apply = async || bench.builder.apply_within(&CallContext::new(), propose()).await;
    let waiting = || bench.store().pending().unwrap();
    channel.is_silent.store(true, Ordering::Relaxed);
    tokio::select! {
        it = apply() => panic!("it is answered: {it:?}"),
        () = channel.asked.notified() => {}
    }
    assert_eq!(waiting().len(), 1);
    // Asked again, the person denies it: that is one denial, which the agent reads in the answer alone.
    channel.is_silent.store(false, Ordering::Relaxed);
    channel.answers.answers(Answer::Deny { reason: "no".into() });
    assert!(matches!(apply().await, Err(Refusal::Denied { .. })));
    assert!(waiting().is_empty());
    channel.answers.answers(Answer::Deny { reason: "no".into() });
    assert!(matches!(apply().await, Err(Refusal::Denied { reason }) if reason == "no"));
    assert_eq!(channel.answers.n_seen(), 2);
    assert!(apply().await.unwrap_err().to_string().contains("not asked again"));
    assert_eq!(channel.answers.n_seen(), 2);

    // One that the person lets run once, and one that is saved, have one place each.
    channel.answers.answers(Answer::Once);
    let once = Proposal::of(&def("once", "echo once\n"), "session-1");
    let once = bench.builder.apply_within(&CallContext::new(), once).await;
    assert!(matches!(once, Ok(Applied::Once { .. })), "{once:?}");
    channel.answers.clear();
    let saved = Proposal::of(&def("saved", "echo saved\n"), "session-1");
    let saved = bench.builder.apply_within(&CallContext::new(), saved).await;
    assert!(matches!(saved, Ok(Applied::Saved(_))), "{saved:?}");
    assert!(waiting().is_empty());
    let third = Proposal::of(&def("third", "echo third\n"), "session-1");
    let refused = bench.builder.apply_within(&CallContext::new(), third).await.unwrap_err();
    assert!(matches!(refused, Refusal::SessionLimit { limit: 2, n_waiting: 0 }), "{refused}");
}

/// An approver who lets a text run once, when another process has saved a version.
#[derive(Debug)]
struct OnceAfter(ToolBuilder, Proposal);

#[async_trait::async_trait]
impl Approver for OnceAfter {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        assert!(matches!(self.0.apply(self.1.clone()).await.unwrap(), Applied::Saved(_)));
        Ok(Decision::new(Answer::Once, "bob"))
    }
}

#[tokio::test]
async fn what_is_let_run_once_is_based_on_the_version_that_is_there() {
    let bench = Bench::new();
    bench.save(&def("say", "echo one\n"), None).await;
    let update = |script: &str| Proposal::of(&def("say", script), "s").based_on(1);
    let approver = OnceAfter(bench.builder.clone(), update("echo two\n"));
    let registry = Arc::new(Registry::new());
    let host = HostContext::new(host_env(), "/tmp");
    let store = Store::new(bench.store().dir());
    let builder =
        ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::clone(&registry))
            .approver(Arc::new(approver))
            .build();
    let refused = builder.apply(update("echo mine\n")).await.unwrap_err();
    assert!(matches!(refused, Refusal::Conflict { current: 2, .. }), "{refused}");
    assert!(registry.get("say").is_none());
}

/// An approver who answers when another person has decided on the same text.
#[derive(Debug)]
struct Slower {
    other: ToolBuilder,
    waits: Waits,
    answer: Answer,
}

#[derive(Debug, Clone)]
enum Waits {
    Proposal(String),
    File,
}

async fn taken_up(builder: &ToolBuilder, waits: &Waits) -> Result<Applied, Refusal> {
    match waits {
        Waits::Proposal(id) => builder.resume(id).await,
        Waits::File => builder.adopt("t", "bob").await,
    }
}

#[async_trait::async_trait]
impl Approver for Slower {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        drop(taken_up(&self.other, &self.waits).await);
        Ok(Decision::new(self.answer.clone(), "bob"))
    }
}

/// What the slower one of two persons is told.
async fn told_late(bench: &Bench, waits: &Waits, faster: Answer, slower: Answer) -> String {
    bench.approver.answers(faster);
    let approver =
        Slower { other: bench.builder.clone(), waits: waits.clone(), answer: slower.clone() };
    let host = HostContext::new(host_env(), "/tmp");
    let store = Store::new(bench.store().dir());
    let builder =
        ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::new(Registry::new()))
            .approver(Arc::new(approver))
            .build();
    let res = taken_up(&builder, waits).await;
    let Err(Refusal::Store(err)) = res else { panic!("{slower:?}: {res:?}") };
    assert!(matches!(*err, StoreError::Decided { .. }), "{err:?}");
    err.to_string()
}

#[tokio::test]
async fn of_two_answers_to_a_proposal_the_first_holds() {
    let deny = || Answer::Deny { reason: "dangerous".into() };
    for slower in [Answer::Save, Answer::Once, Answer::Later, deny()] {
        for faster in [deny(), Answer::Save] {
            let bench = Bench::new();
            let id = staged(&bench, &def("t", "date -u\n"), None).await.unwrap();
            let waits = Waits::Proposal(id.clone());
            let is_saved = matches!(faster, Answer::Save);
            let told = told_late(&bench, &waits, faster, slower.clone()).await;
            let end = if is_saved {
                "its text was saved as version 1"
            } else {
                "it was denied or changed meanwhile"
            };
            assert_eq!(told, format!("the proposal {id:?} waits no longer: {end}"));
            let n_versions = bench.store().history("t").map_or(0, |it| it.len());
            assert_eq!(n_versions, usize::from(is_saved), "{slower:?}");
            assert!(bench.store().pending().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn an_edit_that_was_discarded_meanwhile_is_not_saved() {
    let bench = Bench::new();
    bench.save(&def("t", "date\n"), None).await;
    let view = bench.store().view_path("t");
    let text = std::fs::read_to_string(&view).unwrap();
    std::fs::write(&view, text.replace("date", "date -u")).unwrap();
    let store = bench.store().clone();
    let discarded = Discarding(store);
    let host = HostContext::new(host_env(), "/tmp");
    let builder = ToolBuilder::builder(
        Store::new(bench.store().dir()),
        ExecEnv::new(Local::new()),
        host,
        Arc::new(Registry::new()),
    )
    .approver(Arc::new(discarded))
    .build();
    let Err(Refusal::Store(err)) = builder.adopt("t", "bob").await else { panic!("it is saved") };
    let what = format!(
        "the edit of {} waits no longer: it was denied or changed meanwhile",
        view.display()
    );
    assert_eq!(err.to_string(), what);
    // Where it was saved, the slower one is told as which version.
    std::fs::write(&view, text.replace("date", "date -R")).unwrap();
    let told = told_late(&bench, &Waits::File, Answer::Save, Answer::Save).await;
    assert!(told.ends_with("its text was saved as version 2"), "{told}");
    assert_eq!(bench.store().history("t").unwrap().len(), 2);
}

/// An approver who saves an edit that another person has discarded.
#[derive(Debug)]
struct Discarding(Store);

#[async_trait::async_trait]
impl Approver for Discarding {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        self.0.discard_edit("t").unwrap();
        Ok(Decision::new(Answer::Save, "bob"))
    }
}
