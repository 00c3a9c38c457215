//! Proposals that wait for a person.

use flyto_evolve::{Answer, MAX_PENDING_OF_TOOL, RecoveredKind, Stage};

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
