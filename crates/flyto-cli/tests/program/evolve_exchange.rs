//! Tools as folders of the Agent Skills format, out of a store and into another one.

use serde_json::json;

use crate::evolve::definition;
use crate::place::{Place, Ran};

fn other(place: &Place, words: &[&str]) -> Ran {
    place.flyto(&[&["--evolve", "other"], words].concat()).env("USER", "bob").run()
}

/// Imports a folder where there is no terminal, and gives the id under which it waits.
fn imported(place: &Place, dir: &str) -> String {
    let ran = other(place, &["evolve", "import", dir, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let document = ran.json();
    assert_eq!(document["status"], "staged");
    document["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_tool_goes_out_and_comes_in_as_a_skill() {
    let place = Place::new();
    let id = place.staged(&definition("Say_It", "echo \"$TOOL_INPUT_TEXT\"\n"), &[]);
    assert_eq!(place.evolving(&["evolve", "approve", "--yes", &id]).run().code, Some(0));
    let export = ["evolve", "export", "Say_It", "--as", "skill"];
    let ran = place.evolving(&export).run();
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert!(ran.stderr().contains("`--to DIR`"), "{}", ran.shown());
    let ran = place.evolving(&[&export[..], &["--to", "nowhere"]].concat()).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    let to = [&export[..], &["--to", "."]].concat();
    let ran = place.evolving(&[&to[..], &["--format", "json"]].concat()).run();
    let told = json!({"name": "Say_It", "version": 1, "file": "./say-it"});
    assert_eq!(ran.json(), told, "{}", ran.shown());
    // Nothing that is there is written over.
    assert_eq!(place.evolving(&to).run().code, Some(2));
    let script = std::fs::read_to_string(place.path().join("say-it/scripts/say-it.sh")).unwrap();
    assert_eq!(script, "echo \"$TOOL_INPUT_TEXT\"\n");
    assert!(place.exists("say-it/SKILL.md"));

    // Elsewhere it is a proposal: shown with where it came from, and not called before it is approved.
    let id = imported(&place, "say-it");
    let shown = other(&place, &["evolve", "show", &id]).stdout();
    assert!(shown.contains("imported from say-it"), "{shown}");
    assert_eq!(other(&place, &["call", "Say_It", "text=x"]).code, Some(4));
    assert_eq!(other(&place, &["evolve", "approve", "--yes", &id]).code, Some(0));
    assert_eq!(other(&place, &["call", "Say_It", "text=x"]).stdout(), "x\n");

    // An edited script is not what the folder says of it.
    place.write("say-it/scripts/say-it.sh", "echo evil\n");
    let ran = other(&place, &["evolve", "import", "say-it", "--base", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("say-it/scripts/say-it.sh"), "{}", ran.shown());
}

#[test]
fn an_import_of_a_name_that_is_there_says_how_to_update_it() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    let text = place.evolve(&["export", "t"]).stdout();
    place.write("t.tool.json", &text);
    let ran = place.evolve(&["import", "t.tool.json"]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(
        ran.stderr().contains("`flyto --evolve tools evolve import --base 1 FILE`"),
        "{}",
        ran.shown()
    );
}

#[test]
fn a_skill_from_elsewhere_is_a_proposal() {
    let place = Place::new();
    place.write("hello/SKILL.md", "---\nname: hello\ndescription: Greets.\n---\nRun the script.\n");
    let ran = other(&place, &["evolve", "import", "hello"]);
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("scripts/hello.sh: it is missing"), "{}", ran.shown());
    place.write("hello/scripts/run.sh", "echo hello\n");
    let id = imported(&place, "hello");
    let review = other(&place, &["evolve", "show", &id]).stdout();
    assert!(review.contains("+echo hello\n"), "{review}");
    // What its script calls does not come along, and is told.
    place.write("helped/SKILL.md", "---\nname: helped\ndescription: Helps.\n---\n");
    place.write("helped/scripts/run.sh", "bash scripts/helper.sh\n");
    place.write("helped/scripts/helper.sh", "echo help\n");
    let ran = other(&place, &["evolve", "import", "helped"]);
    let told = "left out of helped: scripts/helper.sh; they are no part of the tool";
    assert!(ran.stderr().contains(told), "{}", ran.shown());
    let helped = ran.stdout().replace(" waits\n", "");
    let review = other(&place, &["evolve", "show", &helped]).stdout();
    assert!(review.contains("helped, without scripts/helper.sh"), "{review}");
    assert_eq!(other(&place, &["evolve", "approve", "--yes", &id]).code, Some(0));
    assert_eq!(other(&place, &["call", "hello"]).stdout(), "hello\n");
    // A link in it is not followed.
    place.write("secret", "echo secret\n");
    place.write("linked/SKILL.md", "---\nname: linked\ndescription: Links.\n---\n");
    std::fs::create_dir(place.path().join("linked/scripts")).unwrap();
    let link = place.path().join("linked/scripts/run.sh");
    std::os::unix::fs::symlink("../../secret", link).unwrap();
    let ran = other(&place, &["evolve", "import", "linked"]);
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("scripts/run.sh"), "{}", ran.shown());
}

#[test]
fn an_import_says_why_it_is_no_twin() {
    let place = Place::new();
    let script = "tr -s '[:space:]' '\\n' <<< \"$TOOL_INPUT_TEXT\" | sort | uniq -c | sort -rn | head -n 5\n";
    place.approved(&definition("top_words", script), &[]);
    let text = place.evolve(&["export", "top_words"]).stdout();
    place.write("top_words.tool.json", &text);
    place.write("proposal.json", &definition("most_words", &script.replace("-n 5", "-n 7")));
    let id =
        other(&place, &["evolve", "propose", "proposal.json"]).stdout().replace(" waits\n", "");
    assert_eq!(other(&place, &["evolve", "approve", "--yes", &id]).code, Some(0));
    let ran = other(&place, &["evolve", "import", "top_words.tool.json"]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    let help = "`flyto --evolve other evolve import --distinct-because TEXT FILE`";
    assert!(ran.stderr().contains(help), "{}", ran.shown());
    let ran = other(
        &place,
        &["evolve", "import", "--distinct-because", "five and seven differ", "top_words.tool.json"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
}

#[test]
fn a_tool_goes_to_another_store() {
    let place = Place::new();
    place.approved(&definition("t", "echo there\n"), &[]);
    let ran = place.evolve(&["export", "t", "--to", "."]);
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(0), "./t.tool.json\n"));
    assert_eq!(place.evolve(&["export", "t", "--to", "."]).code, Some(2));
    assert_eq!(place.evolve(&["export", "t", "--to", "nowhere"]).code, Some(4));
    let other = |words: &[&str]| place.flyto(&[&["--evolve", "other"], words].concat()).run();
    let ran = other(&["evolve", "import", "t.tool.json", "--format", "json"]);
    let id = ran.json()["id"].as_str().unwrap().to_owned();
    assert!(other(&["evolve", "show", &id]).stdout().contains("imported from t.tool.json"));
    assert_eq!(other(&["evolve", "approve", "--yes", &id]).code, Some(0));
    assert_eq!(other(&["call", "t", "text=x"]).stdout(), "there\n");
    let text = std::fs::read_to_string(place.path().join("t.tool.json")).unwrap();
    place.write("t.tool.json", &text.replace("echo there", "echo evil"));
    let ran = other(&["evolve", "import", "t.tool.json", "--base", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
}
