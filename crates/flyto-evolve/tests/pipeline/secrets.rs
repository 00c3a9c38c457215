//! Secrets in proposals.

use flyto_evolve::{Answer, Applied, Example, Proposal, Refusal, ToolDefinition};
use serde_json::json;

use super::{Bench, def, output};

/// A token of a documented format that no service has given out.
fn token() -> String {
    format!("ghp_{}", "a8Kd93jsLq0ZxW4nTy7RbVc2MfHg51UeQp6J")
}

#[tokio::test]
async fn a_token_in_any_text_reaches_no_file() {
    let token = token();
    let bench = Bench::new();
    let plain = || def("fetch", "curl -H \"Authorization: $GITHUB_TOKEN\" https://example.org\n");
    let mut split = plain();
    split.body = flyto_evolve::Body::Script(format!(
        "A={}\nB={}\ncurl -u $A$B https://example.org\n",
        &token[..20],
        &token[20..]
    ));
    let definitions: Vec<ToolDefinition> = vec![
        def("fetch", &format!("curl -H 'Authorization: {token}' https://example.org\n")),
        def("fetch", &format!("TOKEN=${{TOKEN:-{token}}}\n")),
        ToolDefinition::command(
            "fetch",
            "Fetches.",
            format!("curl https://example.org?k={token}&x=1"),
        ),
        ToolDefinition::script("fetch", format!("Uses {token} to fetch."), "true"),
        plain().with_rationale(format!("the token is {token}")),
        plain().with_tags([token.as_str()]),
        plain().with_input_schema(
            json!({"type": "object", "properties": {"t": {"type": "string", "default": token}}}),
        ),
        plain().with_input_schema(
            json!({"type": "object", "properties": {(token.as_str()): {"type": "string"}}}),
        ),
        plain().with_example(Example::new(json!({"t": token}))),
        ToolDefinition::script(token.clone(), "Fetches.", "true"),
        split,
        plain().with_tags(["net", &token[..20], &token[20..], "b"]),
        plain().with_example(Example::new(
            json!({"a": &token[..9], "b": {"c": &token[9..20], "d": [&token[20..]]}}),
        )),
        def("fetch", "curl -d correct-horse-7-battery https://example.org\n"),
    ];
    for definition in definitions {
        // The limit of proposals is the session's.
        let (_, builder) = bench.again();
        let refusal = builder
            .apply(Proposal::of(&definition, "session-1"))
            .await
            .expect_err("it holds a secret");
        assert!(matches!(refusal, Refusal::Secret { .. }), "{refusal}: {definition:?}");
        let told = format!("{refusal} {} {refusal:?}", refusal.advice());
        for secret in [token.as_str(), "correct-horse-7-battery"] {
            assert!(!told.contains(secret), "{told}");
            assert!(!bench.holds(secret), "{definition:?}");
        }
    }
    let (_, builder) = bench.again();
    let explained = Proposal::of(&plain(), "s").distinct_because(format!("it has {token}"));
    assert!(matches!(builder.apply(explained).await, Err(Refusal::Secret { .. })));
    assert!(!bench.holds(&token));
    let refusal = builder
        .apply(Proposal::of(&def("fetch", &format!("echo {token}\n")), "s"))
        .await
        .unwrap_err();
    assert_eq!(refusal.advice(), "/script: read it from the environment: \"$GITHUB_TOKEN\"");
    assert_eq!(bench.approver.n_seen(), 0, "nothing was shown");
    // The second try does as it was told.
    bench.save(&plain(), None).await;
    assert_eq!(bench.approver.last().facts.env_names, ["GITHUB_TOKEN"]);
}

#[tokio::test]
async fn rules_of_the_host_find_secrets_too() {
    let rules = "[[rules]]\nid = \"acme\"\nregex = '''acme_[0-9a-f]{16}'''\n";
    let env = flyto_execenv::ExecEnv::new(flyto_execenv::local::Local::new());
    let bench = Bench::made(env, |it| it.secret_rules(rules).expect("rules"));
    let text = def("fetch", "echo acme_0123456789abcdef\n").file_text();
    let Refusal::Secret { findings } = bench.refused(text).await else { panic!() };
    assert!(findings.iter().any(|it| it.found.rule == "acme"), "{findings:?}");
    assert!(!bench.holds("acme_0123456789abcdef"));
}

#[tokio::test]
async fn a_person_acknowledges_one_text_and_no_other() {
    let bench = Bench::new();
    let with = |token: &str| def("fetch", &format!("echo {token}\n"));
    let Refusal::Secret { findings } = bench.refused(with(&token()).file_text()).await else {
        panic!()
    };
    let found = &findings[0].found;
    bench
        .store()
        .acknowledge(found.fingerprint, &found.rule, "ada", "a token of the documentation")
        .unwrap();
    let saved = bench.save(&with(&token()), None).await;
    assert_eq!(saved.number, 1);
    let other = token().replace("a8Kd", "b9Le");
    let mut proposal = Proposal::of(&with(&other), "s");
    proposal.base = Some(1);
    assert!(matches!(bench.builder.apply(proposal).await, Err(Refusal::Secret { .. })));
}

#[tokio::test]
async fn what_may_be_a_secret_is_shown_and_never_staged() {
    let bench = Bench::new();
    let asked = def(
        "login",
        "db_password='tr0ub4dor-and-3'\nmysql -u app --password=\"$db_password\" app\n",
    );
    bench.approver.answers(Answer::Later);
    let refusal = bench.refused(asked.file_text()).await;
    assert!(matches!(refusal, Refusal::Secret { .. }), "{refusal}");
    assert!(!bench.approver.last().secrets.is_empty());
    assert!(!bench.holds("tr0ub4dor"));
    assert!(!bench.approver.last().to_string().is_empty());
    // A person that saw it may keep it.
    assert!(matches!(bench.builder.apply(Proposal::of(&asked, "s")).await, Ok(Applied::Saved(_))));
}

#[tokio::test]
async fn leaving_the_guard_out_is_said() {
    let bench = Bench::new();
    let store = flyto_evolve::Store::new(bench.store().dir());
    let env = flyto_execenv::ExecEnv::new(flyto_execenv::local::Local::new());
    let host = flyto_evolve::HostContext::new(super::host_env(), "/tmp");
    let builder = flyto_evolve::ToolBuilder::builder(
        store,
        env,
        host,
        std::sync::Arc::clone(&bench.registry),
    )
    .approver(std::sync::Arc::clone(&bench.approver) as _)
    .without_secret_guard()
    .build();
    builder.apply(Proposal::of(&def("show", &format!("echo {}\n", token())), "s")).await.unwrap();
    assert_eq!(output(&bench.registry, "show").await, format!("{}\n", token()));
}

#[tokio::test]
async fn the_log_has_no_plain_hash_of_a_text_with_a_secret() {
    let bench = Bench::new();
    let definition =
        def("fetch", &format!("curl -H 'Authorization: {}' https://example.org\n", token()));
    bench.refused(definition.file_text()).await;
    bench.refused(definition.file_text()).await;
    bench.refused("{}").await;
    let named = def(&["AKIA", "QYLPMN5HHHFPZAM2"].concat(), "date\n");
    bench.refused(named.file_text()).await;
    // What is only likely to be one is shown to a person, who denies it.
    let asked = def("login", "curl --password hunter2isnotgood https://example.org\n");
    bench.approver.answers(Answer::Deny { reason: "no".into() });
    assert!(matches!(bench.refused(asked.file_text()).await, Refusal::Denied { .. }));
    assert!(!bench.approver.last().secrets.is_empty());

    let reader = flyto_audit::Reader::open(bench.store().dir().join("events")).unwrap();
    let records: Vec<_> = reader.records().unwrap().map(Result::unwrap).collect();
    let text = records.iter().map(|it| it.line()).collect::<String>();
    for definition in [&definition, &asked] {
        let plain = flyto_evolve::Approval::now("ada", definition.hash()).sha256;
        assert!(!text.contains(&plain.to_string()), "{text}");
    }
    assert!(!text.contains("text_sha256"), "{text}");
    let refused = records.iter().filter(|it| it.event == "refused");
    let refused: Vec<_> = refused.collect();
    let first = &refused[0].body;
    assert_eq!((&first["stage"], &first["tool"]), (&json!("secrets"), &json!("fetch")), "{first}");
    assert!(first["rules"][0].is_string() && first["by"].is_string(), "{first}");
    assert_eq!(refused[2].body["tool"], json!(null));
    assert_eq!(refused[3].body["tool"], "[redacted: aws-access-key-id, 20 characters]");
    let keyed = refused.iter().map(|it| it.body["text_hmac"].as_str().unwrap());
    let keyed: Vec<_> = keyed.collect();
    assert_eq!(keyed.len(), 5);
    assert_eq!(keyed[0], keyed[1], "equal texts have equal ones");
    assert!(keyed[0] != keyed[2] && keyed.iter().all(|it| it.len() == 64));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let key = bench.store().dir().join("fingerprint.key").metadata().unwrap();
        assert_eq!((key.permissions().mode() & 0o777, key.len()), (0o600, 32));
    }
}

#[tokio::test]
async fn no_event_has_a_secret_in_any_of_its_texts() {
    let token = token();
    let bench = Bench::new();
    let proposal = |name: &str, by: &str| Proposal::of(&def(name, &format!("date +{name}\n")), by);
    let refusal = bench.builder.apply(proposal("fetch", &token)).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Secret { .. }), "{refusal}");
    let (_, builder) = bench.again();
    let refusal = builder.apply(Proposal::new("{}", &token)).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Invalid { .. }), "{refusal}");
    // What a person is named reaches versions as well.
    bench.approver.is_named(&token);
    let saved = bench.builder.apply(proposal("now", "session-1")).await.unwrap();
    let Applied::Saved(version) = saved else { panic!("{saved:?}") };
    assert!(version.approval.unwrap().by.starts_with("[redacted"));
    bench.builder.archive("now", &token).await.unwrap();
    bench.builder.restore("now", &token).await.unwrap();
    bench.builder.roll_back("now", 1, &token).await.unwrap();
    assert!(!bench.holds(&token));
    let log = std::fs::read_to_string(bench.store().dir().join("events/audit.jsonl")).unwrap();
    assert_eq!(log.matches("\"by\":\"[redacted: github-token").count(), 2, "{log}");
}

#[tokio::test]
async fn a_secret_that_a_definition_prints_is_one_of_its_own() {
    let (env, _) = super::examples::confining();
    let bench = Bench::with(env);
    let token = token();
    let script = format!("printf '{}%s\\n' {}\n", &token[..20], &token[20..]);
    let printing = def("fetch", &script).with_example(Example::new(json!({})));
    let refusal = bench.refused(printing.file_text()).await;
    let Refusal::Secret { findings } = &refusal else { panic!("{refusal}") };
    assert_eq!(findings[0].pointer, "the output of /examples/0");
    assert!(!bench.holds(&token) && bench.approver.n_seen() == 0);
    // A person says that it is none.
    let found = &findings[0].found;
    bench.store().acknowledge(found.fingerprint, &found.rule, "ada", "it opens nothing").unwrap();
    bench.save(&printing, None).await;
    assert!(!bench.holds(&token));
}
