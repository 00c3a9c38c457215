//! Where rules for files start, and under which names they know a place.
#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, path::Path};

use flyto_permission::{ClassTrust, Layer, Place, Request, Rules, RulesBuilder, Verdict};
use flyto_tools::{Access, PermissionClass, Preview, ToolId};

/// `project/src`, `project/secret/k`, `outside/build` and `dotfiles/ssh/id`, with links to some of them.
fn home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("there is a place for files");
    let base = dir.path();
    for name in ["project/src", "project/secret", "outside/build", "dotfiles/ssh"] {
        fs::create_dir_all(base.join(name)).expect("the directory is ours");
    }
    for name in ["project/secret/k", "outside/o", "dotfiles/ssh/id", "dotfiles/bashrc"] {
        fs::write(base.join(name), "x").expect("the directory is ours");
    }
    for (to, from) in [
        ("../outside", "project/link"),
        ("secret", "project/by_name"),
        ("/", "project/root"),
        ("dotfiles/ssh", ".ssh"),
        ("dotfiles/bashrc", ".bashrc"),
    ] {
        symlink(to, base.join(from)).expect("the directory is ours");
    }
    dir
}

fn rules(texts: &[(Verdict, &str)]) -> RulesBuilder {
    let mut res = Rules::builder();
    for (effect, text) in texts {
        res.add(Layer::Operator, *effect, text, Place::default()).expect("these are rules");
    }
    res
}

/// A call of a tool whose class is believed, in `project`.
#[track_caller]
fn check(
    rules: &Rules,
    home: &Path,
    preview: &Preview,
    class: &PermissionClass,
    expected: Verdict,
) {
    let id = ToolId::parse("files:use").expect("this is a name");
    let project = home.join("project");
    let request = Request::new(&id)
        .class(class)
        .class_trust(ClassTrust::Named)
        .preview(Some(preview))
        .home(home)
        .working_dir(&project);
    let decision = rules.decide(&request);
    assert_eq!(decision.verdict, expected, "{preview:?}: {decision}");
}

fn path(path: impl AsRef<Path>, access: Access) -> Preview {
    Preview::new().with_path(path.as_ref().to_str().expect("it is UTF-8"), access)
}

#[test]
fn a_rule_of_a_project_starts_at_the_project() {
    let home = home();
    let project = home.path().join("project");
    let mut rules = Rules::builder();
    for (effect, text) in [
        (Verdict::Deny, "Read(secret/**)"),
        (Verdict::Allow, "Edit(src/**)"),
        (Verdict::Deny, "Read(./x)"),
    ] {
        let place = Place::new("config.json", 1, 1, "");
        rules.add_in(&project, Layer::Project, effect, text, place).expect("this is a rule");
    }
    let rules = rules.trust_project().build();
    let decide = |path: &Path, access, dir: &Path| {
        let id = ToolId::parse("files:use").expect("this is a name");
        let preview = self::path(path, access);
        let request = Request::new(&id)
            .class(&PermissionClass::FILE)
            .class_trust(ClassTrust::Named)
            .preview(Some(&preview))
            .working_dir(dir);
        rules.decide(&request).verdict
    };
    let src = project.join("src");
    for dir in [&*project, &*src, Path::new("/")] {
        assert_eq!(decide(&project.join("secret/k"), Access::Read, dir), Verdict::Deny, "{dir:?}");
        assert_eq!(decide(&project.join("x"), Access::Read, dir), Verdict::Deny, "{dir:?}");
        assert_eq!(decide(&src.join("a"), Access::Write, dir), Verdict::Allow, "{dir:?}");
    }
    assert_eq!(decide(Path::new("../secret/k"), Access::Read, &src), Verdict::Deny);
    assert_eq!(decide(&src.join("src/a"), Access::Write, &src), Verdict::Allow, "below src");
    assert_eq!(decide(&src.join("secret/k"), Access::Read, &src), Verdict::Ask, "another place");
}

#[test]
fn what_allows_does_not_start_where_a_program_starts() {
    let home = home();
    let (base, outside) = (home.path(), home.path().join("outside"));
    let rules =
        rules(&[(Verdict::Allow, "Edit(build/**)"), (Verdict::Deny, "Edit(kept/**)")]).build();
    let check = |path: &Path, expected| {
        let preview = self::path(path, Access::Write).with_working_dir(outside.to_string_lossy());
        check(&rules, base, &preview, &PermissionClass::FILE, expected);
    };
    check(&base.join("project/build/x"), Verdict::Allow);
    check(&outside.join("build/x"), Verdict::Ask);
    check(Path::new("build/x"), Verdict::Ask);
    check(&outside.join("kept/x"), Verdict::Deny);
    check(&base.join("project/kept/x"), Verdict::Deny);
}

#[test]
fn a_place_is_denied_under_every_name() {
    let home = home();
    let base = home.path();
    let texts = [
        (Verdict::Deny, "Read(link/**)".to_owned()),
        (Verdict::Deny, "Read(by_name/**)".to_owned()),
        (Verdict::Deny, format!("Edit({}/project/link/build)", base.display())),
        (Verdict::Allow, "Read".to_owned()),
        (Verdict::Allow, "Edit".to_owned()),
    ];
    let texts: Vec<_> = texts.iter().map(|(effect, text)| (*effect, &**text)).collect();
    let rules = rules(&texts).build();
    let check = |path: &str, access, expected| {
        check(&rules, base, &self::path(path, access), &PermissionClass::FILE, expected);
    };
    check("link/o", Access::Read, Verdict::Deny);
    check("../outside/o", Access::Read, Verdict::Deny);
    check("~/outside/o", Access::Read, Verdict::Deny);
    check("~/outside/build/new", Access::Write, Verdict::Deny);
    check("~/outside/other", Access::Write, Verdict::Allow);
    check("secret/k", Access::Read, Verdict::Deny);
    check("~/dotfiles/x", Access::Read, Verdict::Allow);
    // What the links of the home directory lead to is what they protect.
    check("~/dotfiles/ssh/id", Access::Read, Verdict::Deny);
    check("~/dotfiles/bashrc", Access::Read, Verdict::Allow);
    check("~/dotfiles/bashrc", Access::Write, Verdict::Ask);
}

#[test]
fn a_rule_by_a_link_to_the_root_names_all_below() {
    let home = home();
    let texts = [
        (Verdict::Deny, "Read(root/etc/**)"),
        (Verdict::Deny, "Edit(root/**)"),
        (Verdict::Allow, "Read"),
    ];
    let rules = rules(&texts).build();
    let check = |path: &str, access, expected| {
        check(&rules, home.path(), &self::path(path, access), &PermissionClass::FILE, expected);
    };
    check("/etc/hosts", Access::Read, Verdict::Deny);
    check("/", Access::Read, Verdict::Allow);
    check("/", Access::Write, Verdict::Deny);
    check("src/a", Access::Write, Verdict::Deny);
    check("src/a", Access::Read, Verdict::Allow);
}

#[test]
fn a_rule_that_denies_opens_nothing() {
    let home = home();
    let base = home.path();
    for (to, from) in [("/etc", "project/etc"), ("../dotfiles", "project/dot")] {
        symlink(to, base.join(from)).expect("the directory is ours");
    }
    let mut rules = rules(&[
        (Verdict::Allow, "Edit(etc/**)"),
        (Verdict::Allow, "Read(dot/ssh/**)"),
        (Verdict::Deny, "Edit(etc/*.key)"),
    ]);
    let project = base.join("project");
    for text in ["Edit(etc/*.zz)", "Read(dot/ssh/*.zz)"] {
        let place = Place::new("config.json", 1, 1, "");
        rules.add_in(&project, Layer::Project, Verdict::Deny, text, place).expect("it is a rule");
    }
    let rules = rules.build();
    let check = |path: &str, access, expected| {
        check(&rules, base, &self::path(path, access), &PermissionClass::FILE, expected);
    };
    check("etc/passwd", Access::Write, Verdict::Ask);
    check("/etc/passwd", Access::Write, Verdict::Ask);
    check("/etc/a.key", Access::Write, Verdict::Deny);
    check("~/.ssh/id", Access::Read, Verdict::Deny);
    check("dot/ssh/id", Access::Read, Verdict::Deny);
}

#[test]
fn the_directory_of_a_project_names_no_protected_place() {
    let home = home();
    let project = home.path().join(".config/flyto/project");
    fs::create_dir_all(&project).expect("the directory is ours");
    let mut rules = Rules::builder();
    for text in ["Edit(./**)", "Edit(src/.git/**)"] {
        let place = Place::new("config.json", 1, 1, "");
        rules.add_in(&project, Layer::Project, Verdict::Allow, text, place).expect("it is a rule");
    }
    let rules = rules.trust_project().build();
    let check = |path: &str, expected| {
        let preview = path_of(&project, path);
        check(&rules, home.path(), &preview, &PermissionClass::FILE, expected);
    };
    check("a", Verdict::Ask);
    check(".git/hooks/x", Verdict::Ask);
    // Two protected places, of which the rule names one.
    check("src/.git/x", Verdict::Ask);
}

fn path_of(dir: &Path, name: &str) -> Preview {
    path(dir.join(name), Access::Write)
}

#[test]
fn names_between_a_path_and_where_it_leads_count() {
    let home = home();
    let base = home.path();
    for (to, from) in [
        ("d1", "project/a"),
        ("d1", "project/e"),
        ("a", "project/chain"),
        ("../d2", "project/d1/q"),
        (".", "project/self"),
        ("shared/env", "project/.env"),
        ("/dev/null", ".netrc"),
    ] {
        fs::create_dir_all(base.join("project/d1")).expect("the directory is ours");
        fs::create_dir_all(base.join("project/shared")).expect("the directory is ours");
        symlink(to, base.join(from)).expect("the directory is ours");
    }
    let check = |denied: &str, path: &str, expected| {
        let rules = rules(&[
            (Verdict::Allow, "Read"),
            (Verdict::Allow, "Read(/dev/null)"),
            (Verdict::Deny, denied),
        ]);
        let preview = self::path(path, Access::Read);
        check(&rules.build(), base, &preview, &PermissionClass::FILE, expected);
    };
    for path in ["a/q/x", "d1/q/x", "e/q/x", "chain/q/x", "self/d1/q/x"] {
        check("Read(a/**)", path, Verdict::Deny);
        check("Read(d1/**)", path, Verdict::Deny);
    }
    check("Read(d1/**)", "d2/x", Verdict::Allow);
    for denied in ["Read(.env)", "Read(**/.env)", "Read(./.env)"] {
        check(denied, "shared/env", Verdict::Deny);
    }
    check("Read(x)", "/dev/null", Verdict::Allow);
}

#[cfg(feature = "bash")]
#[test]
fn a_program_is_read_by_its_start() {
    let home = home();
    let deny = [
        (Verdict::Allow, "Bash"),
        (Verdict::Deny, "Edit(src/**)"),
        (Verdict::Deny, "Read(secret/**)"),
    ];
    let rules = rules(&deny).build();
    let check = |line: &str, expected| {
        let preview = Preview::new().with_command_line(["sh", "-c", line]);
        check(&rules, home.path(), &preview, &PermissionClass::BASH, expected);
    };
    check("src/run x", Verdict::Allow);
    check("secret/run x", Verdict::Deny);
    check("src/run src/run", Verdict::Deny);
    check("env src/run", Verdict::Allow);
    check("tee src/run", Verdict::Deny);
    check("src/run > src/run", Verdict::Deny);
}

#[cfg(feature = "bash")]
#[test]
fn wildcards_do_not_lead_around_a_link() {
    let home = home();
    let deny = [(Verdict::Allow, "Bash"), (Verdict::Deny, "Read(by_name/**)")];
    let rules = rules(&deny).build();
    let check = |line: &str, expected| {
        let preview = Preview::new().with_command_line(["sh", "-c", line]);
        check(&rules, home.path(), &preview, &PermissionClass::BASH, expected);
    };
    check("cat secret/*", Verdict::Ask);
    check("cat sec*/k", Verdict::Ask);
    check("cat src/*", Verdict::Allow);
    check("cat ~/dotfiles/ssh/*", Verdict::Ask);
    check("cat ~/dotfiles/ss*/id", Verdict::Ask);
    check("cat /dev/null", Verdict::Allow);
}

#[test]
fn a_rule_by_a_link_opens_no_other_protected_place() {
    let home = home();
    let base = home.path();
    fs::create_dir_all(base.join(".gnupg")).expect("the directory is ours");
    fs::create_dir_all(base.join(".config")).expect("the directory is ours");
    for (to, from) in [
        (".gnupg/netrc", ".netrc"),
        ("/etc/gitconfig", ".gitconfig"),
        ("../dotfiles", ".config/git"),
    ] {
        symlink(to, base.join(from)).expect("the directory is ours");
    }
    let rules = rules(&[
        (Verdict::Allow, "Read(~/.netrc)"),
        (Verdict::Allow, "Edit(~/.gitconfig)"),
        (Verdict::Allow, "Edit(~/.config/git/**)"),
        (Verdict::Allow, "Read(~/.ssh/id)"),
    ])
    .build();
    let check = |path: &str, access, expected| {
        check(&rules, base, &self::path(path, access), &PermissionClass::FILE, expected);
    };
    fs::write(base.join("dotfiles/ssh/other"), "x").expect("the directory is ours");
    for path in ["~/.netrc", "~/.gnupg/netrc", "~/.ssh/other", "~/dotfiles/ssh/other"] {
        check(path, Access::Read, Verdict::Deny);
    }
    // A name on the way is a place of keys as well.
    for (to, from) in [("../dotfiles/ssh", "outside/.ssh"), ("../outside/.ssh/other", "project/id")]
    {
        symlink(to, base.join(from)).expect("the directory is ours");
    }
    check("id", Access::Read, Verdict::Deny);
    check("/etc/gitconfig", Access::Write, Verdict::Ask);
    check("~/dotfiles/.git/hooks/x", Access::Write, Verdict::Ask);
}

#[cfg(feature = "bash")]
#[test]
fn words_of_a_command_are_known_under_every_name() {
    let home = home();
    let deny = [(Verdict::Allow, "Bash"), (Verdict::Deny, "Read(link/**)")];
    let rules = rules(&deny).build();
    let check = |line: &str, expected| {
        let preview = Preview::new().with_command_line(["sh", "-c", line]);
        check(&rules, home.path(), &preview, &PermissionClass::BASH, expected);
    };
    check("cat ../outside/o", Verdict::Deny);
    check("cat link/o", Verdict::Deny);
    check("cat src/a", Verdict::Allow);
    check("cat ~/dotfiles/ssh/id", Verdict::Ask);
}

#[test]
fn the_name_that_a_model_calls_a_tool_by_names_it() {
    let id = ToolId::parse("my.tool").expect("this is a name");
    let decide = |texts: &[(Verdict, &str)], trust| {
        let request = Request::new(&id).class_trust(trust).wire_name("mytool-bca2c3");
        rules(texts).build().decide(&request).verdict
    };
    let deny = [(Verdict::Allow, "my.tool"), (Verdict::Deny, "mytool-bca2c3")];
    assert_eq!(decide(&deny, ClassTrust::Unnamed), Verdict::Deny);
    let allow = [(Verdict::Allow, "mytool-bca2c3")];
    assert_eq!(decide(&allow, ClassTrust::Named), Verdict::Allow);
    assert_eq!(decide(&allow, ClassTrust::Unnamed), Verdict::Ask);
}

/// A rule that allows a protected place for reading does so for a tool that says that it reads it.
#[test]
fn a_text_that_is_declared_to_be_read_once_is_read() {
    let home = home();
    let allowing = [(Verdict::Allow, "Read(/etc/hosts)")];
    let check = |rules: &Rules, input: serde_json::Value, preview: &Preview, trust, expected| {
        let id = ToolId::parse("files:use").expect("this is a name");
        let project = home.path().join("project");
        let request = Request::new(&id)
            .class(&PermissionClass::FILE)
            .class_trust(trust)
            .input(&input)
            .preview(Some(preview))
            .home(home.path())
            .working_dir(&project);
        let decision = rules.decide(&request);
        assert_eq!(decision.verdict, expected, "{input}: {decision}");
    };
    let preview = path("/etc/hosts", Access::Read).with_command_line(["cat", "/etc/hosts"]);
    let built = rules(&allowing).build();
    let once = serde_json::json!({"f": "/etc/hosts"});
    check(&built, once.clone(), &preview, ClassTrust::Named, Verdict::Allow);
    // Of another parameter with the same text it is not known what becomes of it.
    let twice = serde_json::json!({"f": "/etc/hosts", "to": "/etc/hosts"});
    check(&built, twice, &preview, ClassTrust::Named, Verdict::Ask);
    let named = serde_json::json!({"f": "/etc/hosts", "files": {"/etc/hosts": "x"}});
    check(&built, named, &preview, ClassTrust::Named, Verdict::Ask);
    // Of an input with too many values nothing is known.
    let many = vec![0; 5000];
    let named = serde_json::json!({"a0": many, "f": "/etc/hosts", "files": {"/etc/hosts": "x"}});
    check(&built, named, &preview, ClassTrust::Named, Verdict::Ask);
    let written = preview.clone().with_path("/etc/hosts", Access::Write);
    check(&built, once.clone(), &written, ClassTrust::Named, Verdict::Ask);
    // Only the plugin says that it reads.
    check(&built, once.clone(), &preview, ClassTrust::Unnamed, Verdict::Ask);
    let denying = rules(&[allowing[0], (Verdict::Deny, "Read(/etc/hosts)")]).build();
    check(&denying, once, &preview, ClassTrust::Named, Verdict::Deny);
}

/// `.ssh` and `.bashrc` of this home directory are links.
#[test]
fn a_rule_opens_a_protected_place_under_the_name_of_its_link() {
    let home = home();
    let check = |texts: &[(Verdict, &str)], at: &str, access, expected| {
        let rules = rules(texts).build();
        let preview = path(home.path().join(at), access);
        check(&rules, home.path(), &preview, &PermissionClass::FILE, expected);
    };
    for at in [".ssh/id", "dotfiles/ssh/id"] {
        check(&[(Verdict::Allow, "Read(~/.ssh/**)")], at, Access::Read, Verdict::Allow);
        check(&[(Verdict::Allow, "Read(~/.ssh/**)")], at, Access::Write, Verdict::Deny);
        check(&[(Verdict::Allow, "Read(~/**)")], at, Access::Read, Verdict::Deny);
        check(&[(Verdict::Allow, "Read(~/dotfiles/**)")], at, Access::Read, Verdict::Deny);
    }
    check(&[(Verdict::Allow, "Edit(~/.bashrc)")], ".bashrc", Access::Write, Verdict::Allow);
    // A file with two such names needs a rule for each.
    symlink(".ssh/id", home.path().join(".profile")).expect("the directory is ours");
    let both = [(Verdict::Allow, "Edit(~/.ssh/**)"), (Verdict::Allow, "Edit(~/.profile)")];
    check(&both[..1], ".ssh/id", Access::Write, Verdict::Deny);
    check(&both, ".ssh/id", Access::Write, Verdict::Allow);
    // A link of a project is no name of the place.
    symlink("../dotfiles/ssh", home.path().join("project/.ssh")).expect("the directory is ours");
    let of_project = [(Verdict::Allow, "Read(~/project/.ssh/**)")];
    check(&of_project, "project/.ssh/id", Access::Read, Verdict::Deny);
}

/// A pathspec of git starts at the top of the work tree, which is a root.
#[cfg(feature = "bash")]
#[test]
fn a_pathspec_of_git_starts_at_a_root() {
    let home = home();
    let project = home.path().join("project");
    let rules = rules(&[(Verdict::Allow, "Bash"), (Verdict::Deny, "Read(secret/**)")]);
    let rules = rules.roots([&project]).build();
    let id = ToolId::parse("shell:run").expect("this is a name");
    let dir = project.join("src");
    for (line, expected) in [
        ("git diff -- ':/secret/k'", Verdict::Ask),
        ("git diff -- ':(top)secret'", Verdict::Ask),
        ("git diff -- ':/s*t/k'", Verdict::Ask),
        ("git diff -- ':/src'", Verdict::Allow),
    ] {
        let preview = Preview::new()
            .with_command_line(["bash", "-c", line])
            .with_working_dir(dir.to_str().expect("it is UTF-8"));
        let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
        let decision = rules.decide(&request.working_dir(&dir));
        assert_eq!(decision.verdict, expected, "{line}: {decision}");
    }
}
