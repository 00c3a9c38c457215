//! `flyto audit`: the log of calls.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use expect_test::{Expect, expect};
use flyto_audit::{Log, Options};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::live::{interrupt, terminal, wait_until};
use crate::place::{Place, Ran};
use crate::terminal::{check_clean, hostile};

/// Where the program writes the log of a place.
pub(crate) fn log_dir(place: &Place) -> PathBuf {
    place.path().join("home/.local/state/flyto/audit")
}

/// A place with the tools `good`, `bad` and `forbidden`, and with as many calls of each in its log.
pub(crate) fn recorded(names: &[&str]) -> Place {
    let place = Place::with_tools(&[
        ("good", "echo ran", ""),
        ("bad", "exit 3", ""),
        ("forbidden", "echo ran", ""),
    ]);
    place.write("home/.config/flyto/config.json", r#"{"permissions": {"deny": ["p:forbidden"]}}"#);
    for name in names {
        place.call(&[name]).run();
    }
    place
}

fn audit(place: &Place, words: &[&str]) -> Ran {
    place.flyto(&[&["audit"], words].concat()).run()
}

fn json(place: &Place, words: &[&str]) -> Value {
    let ran = audit(place, &[words, &["--format", "json"]].concat());
    assert_eq!(ran.stderr(), "", "{words:?}");
    ran.json()
}

/// The ids of all calls, the newest last.
fn ids(place: &Place) -> Vec<String> {
    let calls = json(place, &["list"])["calls"].take();
    calls.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

/// A table with one blank between cells; times, ids and measures are taken out.
pub(crate) fn cells(text: &str) -> String {
    let cell = |it: &str| match it {
        it if it.ends_with('Z') && it.contains('T') => "TIME".to_owned(),
        it if it.starts_with("call-") => "ID".to_owned(),
        it if it.parse::<f64>().is_ok() => "SECONDS".to_owned(),
        it => it.to_owned(),
    };
    let line = |it: &str| it.split_whitespace().map(cell).collect::<Vec<_>>().join(" ") + "\n";
    text.lines().map(line).collect()
}

#[test]
fn a_start_says_that_calls_need_no_record() {
    let place = Place::with_tools(&[("good", "echo ran", "")]);
    let note =
        "the configuration has calls run that cannot be recorded (`audit.on_failure` is \"run\")";
    assert!(!place.call(&["p:good"]).run().stderr().contains(note));
    place.write("home/.config/flyto/config.json", r#"{"audit": {"on_failure": "run"}}"#);
    let ran = place.call(&["p:good"]).run();
    assert_eq!((ran.code, &*ran.stdout), (Some(0), &b"ran\n"[..]), "{}", ran.shown());
    assert_eq!(ran.stderr(), format!("{note}\n"));
}

#[track_caller]
fn check_list(place: &Place, words: &[&str], expect: Expect) {
    let ran = audit(place, &[&["list"], words].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    expect.assert_eq(&cells(&(ran.stdout() + &ran.stderr())));
}

#[test]
fn calls_and_refused_calls_are_listed() {
    let place = recorded(&["p:good", "p:bad", "p:forbidden"]);
    check_list(
        &place,
        &[],
        expect![[r#"
        TIME ID TOOL CALLER VERDICT OUTCOME SECONDS
        TIME ID p:good operator ask ok SECONDS
        TIME ID p:bad operator ask failed SECONDS
        TIME ID p:forbidden operator deny refused SECONDS
    "#]],
    );
    let calls = json(&place, &["list"])["calls"].take();
    assert_eq!(calls[0]["tool"], "p:good");
    assert_eq!((&calls[0]["begin"], &calls[0]["end"]), (&json!(1), &json!(2)));
    assert!(calls[0]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(calls[2]["outcome"], "refused");
}

#[test]
fn calls_that_lead_to_no_tool_are_listed() {
    let place = Place::with_tools(&[("good", "echo ran", "")]);
    let settings = r#"{"plugins": {"blocked_plugins": ["q"]}}"#;
    place.write("home/.config/flyto/config.json", settings);
    place.plugin("q", &[("t", "echo ran", "")]);
    for (words, code) in [
        (&["p:gone", "n=1"][..], 4),
        (&["q:t"], 5),
        (&["--background", "p:gone"], 4),
        (&["--dry-run", "p:gone"], 4),
    ] {
        let ran = place.call(words).run();
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
    }
    check_list(
        &place,
        &[],
        expect![[r#"
        TIME ID TOOL CALLER VERDICT OUTCOME SECONDS
        TIME ID p:gone operator - not tried SECONDS
        TIME ID q:t operator - refused SECONDS
        TIME ID p:gone operator - not tried SECONDS
    "#]],
    );
}

#[test]
fn a_call_that_no_job_is_made_for_is_listed() {
    let place = Place::with_tools(&[
        ("asks", "echo ran", r#""requires_checkpoint": true"#),
        ("counts", "echo ran", r#""input_schema": {"type": "object", "required": ["n"]}"#),
    ]);
    for (tool, code) in [("p:asks", 5), ("p:counts", 3)] {
        let ran = place.call(&["--background", tool]).run();
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
    }
    check_list(
        &place,
        &[],
        expect![[r#"
        TIME ID TOOL CALLER VERDICT OUTCOME SECONDS
        TIME ID p:asks operator ask refused SECONDS
        TIME ID p:counts operator - failed SECONDS
    "#]],
    );
}

#[test]
fn filters_choose_calls() {
    let place = recorded(&["p:good", "p:bad", "p:good", "p:forbidden"]);
    let of = |words: &[&str]| {
        let calls = json(&place, &[&["list"], words].concat())["calls"].take();
        let calls = calls.as_array().unwrap().iter().map(|it| {
            format!("{} {}", it["tool"].as_str().unwrap(), it["outcome"].as_str().unwrap())
        });
        calls.collect::<Vec<_>>()
    };
    assert_eq!(of(&["--tool", "p:good"]), ["p:good ok", "p:good ok"]);
    assert_eq!(of(&["--tool", "p:*"]).len(), 4);
    assert_eq!(of(&["--tool", "p:"]), [""; 0]);
    assert_eq!(of(&["--outcome", "failed"]), ["p:bad failed"]);
    assert_eq!(of(&["--outcome", "refused", "--tool", "p:good"]), [""; 0]);
    assert_eq!(of(&["--limit", "2"]), ["p:good ok", "p:forbidden refused"]);
    assert_eq!(of(&["--since", "1h"]).len(), 4);
    assert_eq!(of(&["--until", "1h"]), [""; 0]);
    assert_eq!(of(&["--since", "2999-01-01T00:00:00Z"]), [""; 0]);
    assert_eq!(of(&["--until", "2999-01-01T00:00:00Z"]).len(), 4);
    let id = &ids(&place)[1];
    assert_eq!(of(&["--id", id]), ["p:bad failed"]);
    check_list(
        &place,
        &["--limit", "1"],
        expect![[r#"
        TIME ID TOOL CALLER VERDICT OUTCOME SECONDS
        TIME ID p:forbidden operator deny refused SECONDS
        older calls fit as well; --limit N lists more
    "#]],
    );
    check_list(
        &place,
        &["--tool", "none"],
        expect![[r#"
        the log has no such call
    "#]],
    );
    let wrong = audit(&place, &["list", "--since", "yesterday"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn without_a_log_a_sentence_says_so() {
    let place = Place::new();
    for (words, code) in
        [(&["list"][..], 0), (&["show", "x"], 4), (&["verify"], 4), (&["export"], 0)]
    {
        let ran = audit(&place, words);
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
        let sentence =
            "no call was recorded yet: there is no log in DIR/home/.local/state/flyto/audit";
        assert!(ran.shown().contains(sentence), "{}", ran.shown());
    }
    assert_eq!(json(&place, &["list"])["calls"], json!([]));
    let head = format!("3:{}", "0".repeat(64));
    assert_eq!(audit(&place, &["verify", "--head", &head]).code, Some(8));
    assert!(!log_dir(&place).exists(), "reading makes nothing");
    // Nothing is said to be intact where all files were removed.
    let place = recorded(&["p:good"]);
    fs::read_dir(log_dir(&place))
        .unwrap()
        .for_each(|it| fs::remove_file(it.unwrap().path()).unwrap());
    let ran = audit(&place, &["verify"]);
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    assert_eq!(audit(&place, &["verify", "--head", &head]).code, Some(8));
}

#[test]
fn a_start_of_an_id_is_enough() {
    let place = recorded(&["p:good", "p:forbidden"]);
    let ids = ids(&place);
    assert_ne!(ids[0], ids[1]);
    let n_same = ids[0].bytes().zip(ids[1].bytes()).take_while(|(a, b)| a == b).count();
    for (start, tool) in [(&ids[0][..], "p:good"), (&ids[1][..=n_same], "p:forbidden")] {
        let shown = json(&place, &["show", start]);
        assert_eq!(shown["records"].as_array().unwrap().len(), 2);
        assert_eq!(shown["records"][0]["body"]["tool"], tool);
        assert_eq!(shown["records"][1]["event"], "end");
    }
    let several = audit(&place, &["show", &ids[0][..n_same]]);
    assert_eq!(several.code, Some(2));
    assert!(ids.iter().all(|it| several.stderr().contains(it.as_str())), "{}", several.shown());
    place.flyto(&["audit", "show", "nothing"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: the log has no call with the id "nothing"
          help: `flyto audit list` shows the ids
    "#]]);
}

#[test]
fn a_record_is_shown_whole() {
    let place = recorded(&["p:forbidden"]);
    let ran = audit(&place, &["show", "call-"]);
    // What differs from run to run.
    let changing = ["at ", "id ", "process.", "prev ", "hash ", "body.uid", "call "];
    let shown = ran.stdout();
    let lines = shown.lines().filter(|it| !changing.iter().any(|name| it.starts_with(name)));
    expect![[r#"
        outcome  refused

        begin
        seq                               1
        event                             begin
        body.caller                       operator
        body.tool                         p:forbidden
        body.origin                       plugin p
        body.operation                    invoke
        body.input_sha256                 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a
        body.input_bytes                  2
        body.decision.verdict             deny
        body.decision.rule.text           p:forbidden
        body.decision.rule.effect         deny
        body.decision.rule.layer          operator
        body.decision.rule.place.file     DIR/home/.config/flyto/config.json
        body.decision.rule.place.line     1
        body.decision.rule.place.column   27
        body.decision.rule.place.pointer  /permissions/deny/0
        body.class                        plugin_tool
        body.sandbox                      none

        end
        seq                      2
        event                    end
        body.outcome             refused
        body.stage               permission
        body.rule.text           p:forbidden
        body.rule.effect         deny
        body.rule.layer          operator
        body.rule.place.file     DIR/home/.config/flyto/config.json
        body.rule.place.line     1
        body.rule.place.column   27
        body.rule.place.pointer  /permissions/deny/0
        body.seconds             0.0
    "#]].assert_eq(
        &lines
            .map(|it| it.replace(place.path().to_str().unwrap(), "DIR") + "\n")
            .collect::<String>(),
    );
    assert!(shown.contains("\nprocess.pid ") && shown.contains("\nhash "), "{shown}");
}

/// Changes a log, and tells the exit code and the findings.
#[track_caller]
fn check_verify(change: impl FnOnce(&Path), code: i32, expect: Expect) {
    let place = recorded(&["p:good", "p:bad", "p:forbidden"]);
    let before = audit(&place, &["verify"]);
    assert_eq!(before.code, Some(0), "{}", before.shown());
    change(&log_dir(&place));
    let after = audit(&place, &["verify"]);
    assert_eq!(after.code, Some(code), "{}", after.shown());
    // Findings stand before the first empty line.
    let text = after.stdout();
    expect.assert_eq(text.split_once("\n\n").map_or("", |(findings, _)| findings));
    let found = json(&place, &["verify"]);
    assert_eq!(found["intact"], code == 0);
    assert_eq!(found["findings"].as_array().unwrap().is_empty(), code == 0);
}

/// Rewrites the lines of the newest file.
fn rewrite(dir: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let file = dir.join("audit.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(ToOwned::to_owned).collect();
    change(&mut lines);
    fs::write(&file, lines.concat()).unwrap();
}

#[test]
fn a_log_that_was_not_touched_is_intact() {
    check_verify(|_| {}, 0, expect![""]);
}

#[test]
fn a_changed_byte_is_found() {
    let change = |lines: &mut Vec<String>| {
        lines[3] = lines[3].replace(r#""outcome":"failed""#, r#""outcome":"gailed""#);
    };
    check_verify(
        |dir| rewrite(dir, change),
        8,
        expect!["audit.jsonl:4: changed: record 4 does not fit its hash"],
    );
}

#[test]
fn a_removed_line_is_found() {
    let change = |lines: &mut Vec<String>| {
        lines.remove(2);
    };
    check_verify(
        |dir| rewrite(dir, change),
        8,
        expect!["audit.jsonl:3: removed: record 3 is missing"],
    );
}

#[test]
fn a_tail_that_was_cut_is_found() {
    check_verify(
        |dir| rewrite(dir, |lines| lines.truncate(4)),
        8,
        expect!["audit.jsonl:5: cut: records 5 to 6 are missing"],
    );
    let in_a_line = |lines: &mut Vec<String>| {
        let last = lines.last_mut().unwrap();
        last.truncate(last.len() / 2);
    };
    check_verify(
        |dir| rewrite(dir, in_a_line),
        8,
        expect!["audit.jsonl:6: cut: record 6 is missing"],
    );
}

#[test]
fn a_removed_file_is_found() {
    let newest = |dir: &Path| fs::remove_file(dir.join("audit.jsonl")).unwrap();
    check_verify(
        newest,
        8,
        expect!["audit.jsonl:1: cut: records 1 to 6 are missing, with the file"],
    );
    let head = |dir: &Path| fs::remove_file(dir.join("head.json")).unwrap();
    check_verify(
        head,
        8,
        expect![
            "head.json:1: head lost: head.json is missing: whether records are missing at the end cannot be told"
        ],
    );
    // Several files, and one between others goes.
    let place = Place::new();
    let log = Log::open(log_dir(&place), Options::default().with_rotate_bytes(500)).unwrap();
    for n in 0..6 {
        log.event("", "stored", &json!({"n": n})).unwrap();
    }
    assert_eq!(audit(&place, &["verify"]).code, Some(0));
    let second = log_dir(&place).join("audit-000000000003.jsonl");
    fs::remove_file(second).unwrap();
    let ran = audit(&place, &["verify"]);
    assert_eq!(ran.code, Some(8), "{}", ran.shown());
    expect!["audit.jsonl:1: file removed: audit-000000000003.jsonl; records 3 to 4 are missing"]
        .assert_eq(ran.stdout().lines().next().unwrap());
}

#[test]
fn a_noted_head_convicts_a_log_that_was_written_anew() {
    let place = recorded(&["p:good"]);
    let head = json(&place, &["verify"])["head"].as_str().unwrap().to_owned();
    let text = audit(&place, &["verify"]);
    assert!(text.stdout().contains(&format!("head     {head}\n")), "{}", text.shown());
    assert!(text.stderr().contains("not found by this: "), "{}", text.shown());
    place.call(&["p:good"]).run();
    let with_head = audit(&place, &["verify", "--head", &head]);
    assert_eq!(with_head.code, Some(0), "{}", with_head.shown());
    assert!(with_head.stdout().contains("record 2 is the one that was noted"));

    fs::remove_dir_all(log_dir(&place)).unwrap();
    place.call(&["p:good"]).run();
    assert_eq!(audit(&place, &["verify"]).code, Some(0), "this cannot be found without a head");
    let ran = audit(&place, &["verify", "--head", &head]);
    assert_eq!(ran.code, Some(8), "{}", ran.shown());
    expect!["audit.jsonl:2: changed: record 2 has another hash than the head that was noted"]
        .assert_eq(ran.stdout().lines().next().unwrap());
    assert_eq!(audit(&place, &["verify", "--head", "2:abc"]).code, Some(2));
}

/// Other systems do not tell whether a process is alive.
#[cfg(target_os = "linux")]
#[test]
fn a_call_whose_process_was_killed_has_no_end() {
    let place = Place::with_tools(&[("waits", "touch started; exec sleep 1000", "")]);
    let child = place.call(&["p:waits"]).command(|it| {
        it.stdout(Stdio::null()).stderr(Stdio::null());
    });
    let mut child = child.start();
    wait_until("the tool runs", || place.exists("plugins/p/started"));
    check_list(
        &place,
        &[],
        expect![[r#"
        TIME ID TOOL CALLER VERDICT OUTCOME SECONDS
        TIME ID p:waits operator ask running -
    "#]],
    );
    let open = audit(&place, &["verify"]);
    assert_eq!(open.code, Some(0), "{}", open.shown());
    assert!(open.stdout().contains(" (running)\n"), "{}", open.shown());
    interrupt(&child, Signal::KILL);
    child.wait().unwrap();
    check_list(
        &place,
        &["--outcome", "no_end"],
        expect![[r#"
        TIME ID TOOL CALLER VERDICT OUTCOME SECONDS
        TIME ID p:waits operator ask no end -
    "#]],
    );
    check_list(
        &place,
        &["--outcome", "running"],
        expect![[r#"
        the log has no such call
    "#]],
    );
    assert_eq!(json(&place, &["show", "call-"])["outcome"], "no_end");
    let open = audit(&place, &["verify"]);
    assert_eq!(open.code, Some(0), "{}", open.shown());
    assert!(open.stdout().contains(" (no end)\n"), "{}", open.shown());
}

#[test]
fn an_export_has_the_lines_of_the_log() {
    let place = recorded(&["p:good", "p:bad", "p:good"]);
    let log = fs::read_to_string(log_dir(&place).join("audit.jsonl")).unwrap();
    let export = |words: &[&str]| {
        let ran = audit(&place, &[&["export"], words].concat());
        assert_eq!((ran.code, ran.stderr()), (Some(0), String::new()), "{}", ran.shown());
        ran.stdout()
    };
    assert_eq!(export(&[]), log);
    assert_eq!(export(&["--format", "json"]), log);
    assert_eq!(export(&["--since", "1h"]), log);
    assert_eq!(export(&["--until", "1h"]), "");
    let lines: Vec<_> = log.split_inclusive('\n').collect();
    assert_eq!(export(&["--outcome", "failed"]), lines[2..4].concat());
    let good = [&lines[..2], &lines[4..]].concat().concat();
    assert_eq!(export(&["--tool", "p:g*"]), good);
    assert_eq!(export(&["--tool", "p:good", "--since", "1h"]), good);
    let id = &ids(&place)[2];
    assert_eq!(export(&["--id", id]), lines[4..].concat());

    rewrite(&log_dir(&place), |lines| lines[1] = "no record\n".to_owned());
    let ran = audit(&place, &["export"]);
    assert_eq!(ran.stdout(), [&lines[..1], &lines[2..]].concat().concat());
    let remark = "1 line cannot be read; `flyto audit verify` tells what happened\n";
    assert_eq!(ran.stderr(), remark);
}

/// A log whose texts act on a terminal, in a directory whose name does. An id has no control characters.
pub(crate) fn hostile_place() -> (Place, PathBuf) {
    let place = Place::new();
    let state = place.path().join(hostile());
    let dir = state.join("flyto/audit");
    let log = Log::open(&dir, Options::default()).unwrap();
    let text = hostile();
    let body = json!({
        "tool": text, "caller": text, "origin": format!("exec-tool file /{text}"), text.clone(): {text.clone(): text},
        "decision": {"verdict": text}, "list": [text, [text]],
    });
    let id = "id\u{202e}\u{feff}\u{e0041}";
    log.begin(id, &body).unwrap().end(&json!({"outcome": text, "seconds": 1})).unwrap();
    std::mem::forget(log.begin(id, &json!({})).unwrap());
    log.event("", "ev\u{202e}", &json!({})).unwrap();
    rewrite(&dir, |lines| lines.insert(1, format!("{text}\n")));
    (place, state)
}

const WAYS: &[&[&str]] = &[&["list"], &["show", "id"], &["show", "x\u{202e}"], &["verify"]];

#[test]
fn no_text_of_a_log_acts_on_a_terminal() {
    let (place, state) = hostile_place();
    let state = state.to_str().unwrap();
    for way in WAYS {
        let what: Vec<String> = way.iter().map(ToString::to_string).collect();
        for color in ["never", "always"] {
            let words = [&["--color", color, "audit"], *way].concat();
            let ran = place.flyto(&words).env("XDG_STATE_HOME", state).run();
            check_clean(&what, &ran.stdout(), color == "always");
            check_clean(&what, &ran.stderr(), color == "always");
            assert_ne!(ran.code, Some(7), "{}", ran.shown());
        }
        let words = [&["--format", "json", "audit"], *way].concat();
        let ran = place.flyto(&words).env("XDG_STATE_HOME", state).run();
        check_clean(&what, &ran.stdout(), false);
        check_clean(&what, &ran.stderr(), false);
        let text = if ran.stdout.is_empty() { ran.stderr() } else { ran.stdout() };
        serde_json::from_str::<Value>(&text).unwrap();
    }
}

#[test]
fn an_export_is_escaped_on_a_terminal_only() {
    let (place, state) = hostile_place();
    let export =
        || place.flyto(&["audit", "export"]).env("XDG_STATE_HOME", state.to_str().unwrap());
    assert!(export().run().stdout().contains('\u{202e}'));
    let (mut controller, user) = terminal(80);
    let flyto = export().command(|it| {
        it.stdout(user).stderr(Stdio::null());
    });
    let mut flyto = flyto.start();
    let mut seen = Vec::new();
    // A terminal whose last user is gone ends with an error on Linux.
    let _ = controller.read_to_end(&mut seen);
    assert_eq!(flyto.wait().unwrap().code(), Some(0));
    let seen = String::from_utf8(seen).unwrap();
    check_clean(&["export".to_owned()], &seen, false);
    assert!(seen.contains("\\u202e") && seen.contains(r#""outcome":"#), "{seen:?}");
}

#[test]
fn a_call_that_cannot_be_recorded_says_where_the_log_may_lie() {
    let place = Place::with_tools(&[("t", "echo ran", "")]);
    // A file where the directory of states would be.
    let states = place.write("states", "");
    let ran = place.call(&["p:t"]).env("XDG_STATE_HOME", states.to_str().unwrap()).run();
    let help = "  help: to have the log elsewhere, set XDG_STATE_HOME to a directory in which only you can write\n";
    assert!(ran.code == Some(5) && ran.stderr().contains(help), "{}", ran.shown());
    let states = place.path().join("others");
    let ran = place.call(&["p:t"]).env("XDG_STATE_HOME", states.to_str().unwrap()).run();
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(0), "ran\n"), "{}", ran.shown());
}
