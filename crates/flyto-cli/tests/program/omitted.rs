//! What is shown of an output that is too long to be shown whole.

use crate::place::Place;

#[test]
fn a_chatty_tool_that_times_out_shows_both_ends() {
    let script = "i=0; yes \"$(printf %01000d 0)\" | head -n 8000; echo last; exec sleep 600";
    let place = Place::with_tools(&[("t", script, r#""timeout_seconds": 4"#)]);
    let ran = place.call(&["p:t"]).run();
    assert_eq!(ran.code, Some(6), "{}", ran.stderr());
    let text = ran.stderr();
    assert!(text.len() < 16 * 1024, "{} bytes", text.len());
    assert!(text.contains("until then it had printed:\n000"), "{text}");
    assert!(text.contains("omitted here …]\n000") && text.contains("\nlast\n"), "{text}");
    let (_, path) = text.split_once("the whole is in ").expect("it was kept");
    let path = place.path().join(path.lines().next().unwrap_or_default().replace("DIR/", ""));
    assert!(path.is_file(), "{text}");
}

#[test]
fn nothing_is_kept_behind_a_link() {
    let place = Place::with_tools(&[("t", "yes \"$(printf %01000d 0)\" | head -n 6000", "")]);
    let state = place.path().join("home/.local/state/flyto");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::create_dir(place.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.path().join("elsewhere"), state.join("output")).unwrap();
    let ran = place.call(&["p:t"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr());
    assert!(ran.stderr().contains("it is a link or no directory"), "{}", ran.stderr());
    assert_eq!(std::fs::read_dir(place.path().join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_chatty_tool_shows_both_ends_where_nothing_was_kept() {
    let script = "yes \"$(printf %01000d 0)\" | head -n 300; echo last; exec sleep 600";
    // Long enough for what is printed, also on a machine with other work.
    let place = Place::with_tools(&[("t", script, r#""timeout_seconds": 12"#)]);
    let (ran, as_json) = std::thread::scope(|scope| {
        let as_json = scope.spawn(|| place.call(&["p:t", "--format", "json"]).run().json());
        (place.call(&["p:t"]).run(), as_json.join().unwrap())
    });
    assert_eq!(ran.code, Some(6), "{}", ran.stderr());
    let text = ran.stderr();
    assert!(text.len() < 16 * 1024, "{} bytes", text.len());
    assert!(text.contains("KiB omitted here; `--format json` has them …]\n000"), "{text}");
    assert!(text.contains("\nlast\n"), "{text}");
    let n_bytes = as_json["execution"]["stdout"].as_str().map(str::len);
    assert!(n_bytes.is_some_and(|it| it > 8 * 1024), "{n_bytes:?}");
}

/// Prints 6 MB to stderr.
const CHATTY: &str = "yes \"$(printf %01000d 0)\" | head -n 6000 >&2; echo last >&2; ";

/// What stands in a failure's text of a stderr of 6 MB: both ends, and a file that holds all of it.
#[track_caller]
fn check_stderr_file(place: &Place, text: &str) {
    assert!(text.len() < 24 * 1024, "{} bytes", text.len());
    assert!(text.contains("\nlast\n") && text.contains(" 000"), "{text}");
    let (_, path) = text.split_once("bytes omitted, the whole is in ").expect("it was kept");
    let path = path.split(" …]").next().unwrap_or_default();
    let path = place.path().join(path.replace("DIR/", ""));
    let whole = std::fs::read(&path).expect("it is there");
    assert_eq!(whole.len(), 6000 * 1001 + "last\n".len());
}

#[test]
fn a_tool_that_is_chatty_on_stderr_shows_both_ends_when_it_times_out() {
    let script = format!("{CHATTY} exec sleep 600");
    let place = Place::with_tools(&[("t", &script, r#""timeout_seconds": 12"#)]);
    let ran = place.call(&["p:t"]).run();
    assert_eq!(ran.code, Some(6), "{}", ran.stderr());
    let text = ran.stdout();
    assert!(text.starts_with("plugin tool \"p:t\" timed out after 12s\nstderr: 000"), "{text}");
    check_stderr_file(&place, &text);
    // It is in the text, and not told once more.
    assert!(ran.stderr().len() < 1024, "{} bytes", ran.stderr().len());
}

#[test]
fn a_tool_that_is_chatty_on_both_streams_shows_the_ends_of_both_when_it_fails() {
    let script = format!("{CHATTY} yes \"$(printf %01000d 1)\" | head -n 6000; echo end; exit 3");
    let place = Place::with_tools(&[("t", &script, "")]);
    let ran = place.call(&["p:t"]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr());
    let text = ran.stdout();
    assert!(text.starts_with("exit code 3\nstdout: 000"), "{text}");
    let (stdout, stderr) = text.split_once("\nstderr: ").expect("both are there");
    assert!(stdout.contains("bytes omitted, the whole is in ") && stdout.ends_with("\nend\n"));
    check_stderr_file(&place, &format!(" {stderr}"));
}

#[test]
fn an_exec_tool_that_is_chatty_on_stderr_shows_both_ends_when_it_fails() {
    let place = Place::new();
    let exec = ["sh", "-c", &format!("{CHATTY} exit 3")];
    let tool = serde_json::json!({"name": "t", "description": "d", "exec": exec});
    place.write("tools.json", &tool.to_string());
    let ran = place.flyto(&["--exec-tools", "tools.json", "call", "t"]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr());
    let text = ran.stdout();
    assert!(text.starts_with("exit code 3\n[stderr] 000"), "{text}");
    check_stderr_file(&place, &text);
}
