//! Tools as Agent Skills folders: the same definition comes back, and hostile folders are refused.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{fs, os::unix::fs::symlink, path::Path};

use flyto_diagnostics::Source;
use flyto_evolve::{
    Approval, Change, Example, NewVersion, ProposalSource, SkillError, Store, ToolDefinition,
    Version, export_skill, import_skill, parse,
};
use rustix::fs::{FileType, Mode};
use serde_json::json;

fn saved(dir: &Path, def: ToolDefinition) -> Version {
    let approval = Approval::now("ada", def.hash());
    Store::new(dir.join("evolution"))
        .commit(NewVersion::new(def, None, Change::Created).approved(approval))
        .unwrap()
}

#[test]
fn every_kind_of_tool_comes_back_with_its_hash() {
    let temp = tempfile::tempdir().unwrap();
    let schema =
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]});
    let hostile = "Says \"it's\": ---\n# & *x <<: | > \u{202e} \\ é\n---\nname: other";
    let mut script = ToolDefinition::script("Say_It", hostile, "echo \"$TOOL_INPUT_X\"\n---\n")
        .with_input_schema(schema.clone())
        .with_tags(["a"])
        .with_rationale("why")
        .with_timeout_seconds(7)
        .with_example(Example::new(json!({"x": "a"})).expecting_output("a"));
    script.read_only = true;
    let command = ToolDefinition::command("say", "Says.", "echo {{.x}}").with_input_schema(schema);
    let steps = json!({"steps": [{"id": "a", "tool": "echo"}]});
    let composite = ToolDefinition::composite("both-1", "Does both.", steps);
    for (def, folder) in [(script, "say-it"), (command, "say"), (composite, "both-1")] {
        let version = saved(temp.path(), def);
        let dir = export_skill(&version, temp.path()).unwrap();
        assert_eq!(dir, temp.path().join(folder));
        let proposal = import_skill(&dir, "ada").unwrap();
        let parsed = parse(&Source::new("t", proposal.text.as_str()));
        assert_eq!(parsed.definition.unwrap().hash(), version.hash());
        // A second export changes nothing of the first.
        assert!(matches!(export_skill(&version, temp.path()), Err(SkillError::Exists { .. })));
    }
    let skill = fs::read_to_string(temp.path().join("say/SKILL.md")).unwrap();
    assert!(
        skill.starts_with("---\nname: \"say\"\ndescription: \"Says.\"\nmetadata:\n"),
        "{skill}"
    );
    let wide = ToolDefinition::script("工具", "Has no name in ASCII.", "true\n");
    let version = saved(temp.path(), wide);
    assert!(matches!(export_skill(&version, temp.path()), Err(SkillError::NoSkillName { .. })));
}

const HEAD: &str = "---\nname: now\ndescription: The time.\n---\nSays the time.\n";

/// A folder with these files that was written by another program.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    for dir in ["now/scripts", "now/references"] {
        fs::create_dir_all(temp.path().join(dir)).unwrap();
    }
    for (path, text) in files {
        fs::write(temp.path().join("now").join(path), text).unwrap();
    }
    temp
}

#[test]
fn a_skill_of_another_program_becomes_a_proposal() {
    let schema = r#"{"type": "object", "properties": {"zone": {"type": "string"}}}"#;
    for script in ["scripts/now.sh", "scripts/run.sh"] {
        let files =
            [("SKILL.md", HEAD), (script, "date\n"), ("references/input_schema.json", schema)];
        let temp = folder(&files);
        let proposal = import_skill(temp.path().join("now"), "ada").unwrap();
        let parsed = parse(&Source::new("t", proposal.text.as_str()));
        let def = parsed.definition.unwrap();
        assert_eq!(def.signature(), "now(zone?: string)");
        assert_eq!(def.body.text(), Some("date\n"));
        assert_eq!(proposal.by, "ada");
    }
}

#[test]
fn files_that_are_no_part_of_the_tool_are_told() {
    let helper = ("scripts/helper.sh", "rm -rf build\n");
    let files = [("SKILL.md", HEAD), ("scripts/run.sh", "bash scripts/helper.sh\n"), helper];
    let temp = folder(&files);
    let dir = temp.path().join("now");
    for (at, n_files) in [("assets/icons", 1), ("scripts/lib", 1)] {
        fs::create_dir_all(dir.join(at)).unwrap();
        (0..n_files).for_each(|it| fs::write(dir.join(at).join(it.to_string()), "").unwrap());
    }
    fs::write(dir.join("tool.json"), "{}").unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, dir.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    symlink("/etc/passwd", dir.join("references/users")).unwrap();
    let proposal = import_skill(&dir, "ada").unwrap();
    let names =
        ["assets/", "pipe", "references/users", "scripts/helper.sh", "scripts/lib/", "tool.json"];
    assert_eq!(proposal.left_out, names);
    // The person that is asked reads it as well.
    let from = format!("{}, without {}", dir.display(), names.join(", "));
    assert_eq!(proposal.source, ProposalSource::Imported { from });
    // Of an exported one too. Of many, the first ones are told.
    let version = saved(temp.path(), ToolDefinition::script("then", "The time.", "date\n"));
    let dir = export_skill(&version, temp.path()).unwrap();
    assert_eq!(import_skill(&dir, "ada").unwrap().left_out, [""; 0]);
    (10..40).for_each(|it| fs::write(dir.join(format!("scripts/{it}")), "").unwrap());
    let left_out = import_skill(&dir, "ada").unwrap().left_out;
    assert_eq!((left_out.len(), &*left_out[0], &*left_out[20]), (21, "scripts/10", "10 more"));
}

fn refused(dir: &Path) -> String {
    match import_skill(dir, "ada") {
        Err(err) => err.to_string().replace(&format!("{}/", dir.display()), ""),
        Ok(proposal) => panic!("it is taken: {}", proposal.text),
    }
}

#[test]
fn hostile_folders_are_refused() {
    let good = [("SKILL.md", HEAD), ("scripts/now.sh", "date\n")];
    let secret = tempfile::tempdir().unwrap();
    fs::write(secret.path().join("SKILL.md"), HEAD).unwrap();
    fs::write(secret.path().join("now.sh"), "date\n").unwrap();

    // Links of files, and of directories on the way to them.
    for (path, target) in [("SKILL.md", "SKILL.md"), ("scripts/now.sh", "now.sh"), ("scripts", "")]
    {
        let temp = folder(&good);
        let at = temp.path().join("now").join(path);
        if at.is_dir() {
            fs::remove_dir_all(&at).unwrap()
        } else {
            fs::remove_file(&at).unwrap()
        }
        symlink(secret.path().join(target), &at).unwrap();
        let why = refused(&temp.path().join("now"));
        assert!(why.contains("it is a link") || why.contains("ot a directory"), "{path}: {why}");
    }
    // A pipe, a socket or a device holds no process.
    let temp = folder(&good[1..]);
    let at = temp.path().join("now/SKILL.md");
    rustix::fs::mknodat(rustix::fs::CWD, &at, FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert_eq!(refused(&temp.path().join("now")), "SKILL.md: it is no regular file");
    fs::remove_file(&at).unwrap();
    fs::create_dir(&at).unwrap();
    assert_eq!(refused(&temp.path().join("now")), "SKILL.md: it is no regular file");

    // Files that take no room and are long, which are never read whole.
    for (path, max_bytes) in [("SKILL.md", 262_144), ("scripts/now.sh", 2 * 1024 * 1024)] {
        let temp = folder(&good);
        let at = temp.path().join("now").join(path);
        fs::File::create(&at).unwrap().set_len(1 << 40).unwrap();
        let told = refused(&temp.path().join("now"));
        assert!(told.contains("it is larger than ") && told.contains(path), "{max_bytes}: {told}");
    }
    // Names that lead elsewhere, and heads that would have something made.
    for (head, why) in [
        ("name: ../now\ndescription: d", "is none of a skill"),
        ("name: now/../now\ndescription: d", "is none of a skill"),
        ("name: Now\ndescription: d", "is none of a skill"),
        ("name: n--w\ndescription: d", "is none of a skill"),
        ("name: then\ndescription: d", "that of its folder is another one"),
        ("name: now", "the head has no \"description\""),
        ("a: &a [x, x]\nname: now\ndescription: *a", "anchors, aliases and tags"),
    ] {
        let text = format!("---\n{head}\n---\n");
        let temp = folder(&[("SKILL.md", text.as_str()), good[1]]);
        let told = refused(&temp.path().join("now"));
        assert!(told.contains(why), "{told}");
    }
    let deep = "[".repeat(100_000);
    let temp = folder(&[good[0], good[1], ("references/input_schema.json", &deep)]);
    assert!(refused(&temp.path().join("now")).contains("recursion limit"));
    let temp = folder(&[good[0], good[1], ("references/tool.json", &deep)]);
    assert!(refused(&temp.path().join("now")).starts_with("the text is no exported tool"));
    let temp = folder(&good[..1]);
    assert_eq!(
        refused(&temp.path().join("now")),
        "scripts/now.sh: it is missing, and so is scripts/run.sh"
    );
    // A folder that is a link, and one that is none.
    let other = tempfile::tempdir().unwrap();
    fs::remove_dir(temp.path().join("now/scripts")).unwrap();
    std::os::unix::fs::symlink(other.path(), temp.path().join("now/scripts")).unwrap();
    assert_eq!(
        refused(&temp.path().join("now")),
        "scripts/now.sh: it is a link, and links are not followed"
    );
    let temp = folder(&good[..1]);
    fs::remove_dir(temp.path().join("now/scripts")).unwrap();
    fs::write(temp.path().join("now/scripts"), "a file").unwrap();
    assert_eq!(refused(&temp.path().join("now")), "scripts/now.sh: scripts is no directory");
    assert_eq!(refused(Path::new("/nonexistent/now")), "SKILL.md: it is missing");
}

#[test]
fn what_was_edited_after_the_export_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let version = saved(temp.path(), ToolDefinition::script("now", "The time.", "date\n"));
    let dir = export_skill(&version, temp.path()).unwrap();
    let script = dir.join("scripts/now.sh");
    fs::write(&script, "halt\n").unwrap();
    assert!(refused(&dir).contains("it is not what references/tool.json says"));
    fs::write(&script, "date\n").unwrap();
    import_skill(&dir, "ada").unwrap();
    for (path, from, to) in [
        ("references/input_schema.json", "\"type\"", "\"title\""),
        ("SKILL.md", "The time.", "The date."),
    ] {
        let path = dir.join(path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let told = refused(&dir);
        assert!(told.contains("propose what was edited as an update"), "{told}");
        fs::write(&path, text).unwrap();
    }
    // What stands below the head is for agents without Flyto, and no part of the tool.
    let skill = dir.join("SKILL.md");
    let text = fs::read_to_string(&skill).unwrap();
    fs::write(&skill, text.replace("Run `bash", "In a checkout, run `bash")).unwrap();
    let left_out = import_skill(&dir, "ada").unwrap().left_out;
    assert_eq!(left_out, ["the text of SKILL.md, which was edited"]);
    fs::write(&skill, text).unwrap();
    assert_eq!(import_skill(&dir, "ada").unwrap().left_out, [""; 0]);
    let tool = dir.join("references/tool.json");
    let text = fs::read_to_string(&tool).unwrap().replace("date", "halt");
    fs::write(&tool, text).unwrap();
    assert!(matches!(import_skill(&dir, "ada"), Err(SkillError::Definition(_))));
}
