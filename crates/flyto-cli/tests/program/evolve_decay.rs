//! Tools that are not used any more.

use serde_json::{Value, json};

use crate::evolve::definition;
use crate::place::{Place, Ran};

fn evolve(place: &Place, words: &[&str]) -> Ran {
    let ran = place.evolving(&[&["evolve"], words].concat()).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    ran
}

fn told(place: &Place, words: &[&str]) -> Value {
    evolve(place, &[words, &["--format", "json"]].concat()).json()
}

#[test]
fn tools_that_are_not_used_are_archived_unless_they_are_pinned() {
    let place = Place::new();
    // What a person proposed stays.
    place.approved(&definition("mine", "echo mine\n"), &[]);
    for name in ["kept", "old"] {
        let text = definition(name, &format!("echo {name}\n"));
        let ran = place.evolving(&["call", "create_tool", "--json", &text]).run();
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        let id = told(&place, &["list"])["pending"][0]["id"].as_str().unwrap().to_owned();
        evolve(&place, &["approve", "--yes", &id]);
        assert_eq!(place.evolving(&["call", name, "text=x"]).run().stdout(), format!("{name}\n"));
    }
    // Both were used today.
    assert_eq!(told(&place, &["decay"]), json!({"dry_run": false, "tools": []}));
    assert!(evolve(&place, &["decay"]).stderr().contains("in use, pinned or needed"));

    evolve(&place, &["pin", "kept"]);
    let list = evolve(&place, &["list"]).stdout();
    assert!(list.contains("active, pinned"), "{list}");
    assert_eq!(told(&place, &["stats"])["tools"]["kept"]["pinned_by"], "ada");
    assert_eq!(told(&place, &["stats"])["tools"]["old"].get("pinned_by"), None);
    assert!(evolve(&place, &["stats"]).stderr().contains("kept is pinned by ada"));

    // As if the time were over. What is stale is told, and stays.
    let stale = ["decay", "--stale-after", "0"];
    let old = |decay: &str| json!([{"name": "old", "decay": decay, "unused_days": 0}]);
    assert_eq!(told(&place, &stale)["tools"], old("stale"));
    let over = ["decay", "--stale-after", "0", "--archive-after", "0"];
    let dry = [&over[..], &["--dry-run"]].concat();
    assert_eq!(told(&place, &dry), json!({"dry_run": true, "tools": old("archive")}));
    assert!(evolve(&place, &dry).stdout().contains("old   0            would be archived"));
    assert_eq!(place.evolving(&["call", "old", "text=x"]).run().code, Some(0));

    let ran = evolve(&place, &over);
    assert!(ran.stdout().contains("old   0            archived"), "{}", ran.shown());
    assert!(ran.stderr().contains("`flyto --evolve tools evolve restore NAME`"), "{}", ran.shown());
    assert_eq!(place.evolving(&["call", "old", "text=x"]).run().code, Some(4));
    assert_eq!(place.evolving(&["call", "kept", "text=x"]).run().code, Some(0));
    assert_eq!(told(&place, &over)["tools"], json!([]));
    assert_eq!(told(&place, &["restore", "old"])["version"], 3);
    assert_eq!(place.evolving(&["call", "old", "text=x"]).run().stdout(), "old\n");
}

#[test]
fn damaged_counts_are_told_and_no_tool_decays_by_them() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    let dir = told(&place, &["list"])["dir"].as_str().unwrap().to_owned();
    let over = ["evolve", "decay", "--stale-after", "0", "--archive-after", "0"];
    for file in ["pins.json", "usage.json"] {
        let path = std::path::Path::new(&dir).join(file);
        std::fs::write(&path, "{\"t\":").unwrap();
        let what = format!("{file} cannot be used: ");
        let ran = place.evolving(&over).run();
        assert!(ran.code != Some(0) && ran.stderr().contains(&what), "{}", ran.shown());
        assert_eq!(evolve(&place, &["list"]).stderr().matches(&what).count(), 1);
        let ran = place.evolving(&["call", "t", "text=x"]).run();
        assert_eq!(ran.stdout(), "t\n");
        assert_eq!(ran.stderr().matches(&what).count(), 1, "{}", ran.shown());
        if file == "pins.json" {
            std::fs::remove_file(path).unwrap();
        }
    }
    // The call has begun to count anew, and the damaged file lies aside.
    let list = evolve(&place, &["list"]);
    assert!(list.stderr().contains("set aside since damaged: "), "{}", list.shown());
    let decay = place.evolving(&over).run();
    assert_eq!(decay.code, Some(0), "{}", decay.shown());
    assert!(decay.stderr().contains(" are not known: "), "{}", decay.shown());
}

#[test]
fn a_call_tells_that_its_count_is_lost() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    let dir = told(&place, &["list"])["dir"].as_str().unwrap().to_owned();
    let lock = std::fs::File::open(std::path::Path::new(&dir).join(".lock")).unwrap();
    lock.lock().unwrap();
    let ran = place.evolving(&["call", "t", "text=x"]).run();
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(0), "t\n"));
    let lost = "1 call of evolved tools is not in their statistics: ";
    assert!(ran.stderr().contains(lost), "{}", ran.shown());
    drop(lock);
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().stderr(), "");
    assert_eq!(told(&place, &["stats"])["tools"]["t"]["versions"]["1"]["n_calls"], 1);
}

#[test]
fn the_pin_of_a_tool_that_was_never_called_is_told() {
    let place = Place::new();
    for name in ["idle", "other"] {
        place.approved(&definition(name, &format!("echo {name}\n")), &[]);
    }
    place.told(&["pin", "idle"]);
    for words in [&["stats"][..], &["stats", "idle"]] {
        let ran = place.evolve(words);
        assert!(ran.stderr().contains("no call was counted"), "{}", ran.shown());
        assert!(ran.stderr().contains("idle is pinned by ada"), "{}", ran.shown());
        let tools = serde_json::json!({"idle": {"versions": {}, "pinned_by": "ada"}});
        assert_eq!(place.told(words)["tools"], tools);
    }
    assert!(!place.evolve(&["stats", "other"]).stderr().contains("pinned"));
}
