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
