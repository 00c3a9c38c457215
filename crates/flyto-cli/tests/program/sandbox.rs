//! Programs that are cut off: by the configuration, by a project, and for one call.

use std::os::unix::fs::symlink;

use expect_test::expect;
use rustix::fs::Mode;

use crate::place::{Flyto, Place};

/// Tries what a profile is about, and says what could be done.
const TRIES: &str = r#"
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
try 'read a secret' 'cat "$HOME/.ssh/id"'
try 'read the home directory' 'cat "$HOME/notes"'
try 'write into the project' 'echo x >"$PROJECT/new"'
try 'write elsewhere' 'echo x >"$PROJECT/../elsewhere/new"'
try 'keep something' 'echo x >"$PLUGIN_DATA/new"'
"#;

/// A plugin, a project to work on, a home directory with a secret, and something else.
fn place() -> Place {
    let place = Place::new();
    let tries = format!("PROJECT={}/project\n{TRIES}", place.path().display());
    place.write("plugins/p/t.sh", &tries);
    place.write(
        "plugins/p/plugin.json",
        r#"{"name": "p", "tools": [{"name": "t", "description": "x", "command": "sh",
            "args": ["t.sh"], "timeout_seconds": 60}]}"#,
    );
    place.write("home/.ssh/id", "secret");
    place.write("home/notes", "notes");
    place.write("elsewhere/old", "x");
    place.write("project/old", "x");
    place.write("tmp/old", "x");
    // What the user's umask leaves of them is no part of this.
    for dir in ["home", "project", "elsewhere", "tmp"] {
        rustix::fs::chmod(place.path().join(dir), Mode::from_raw_mode(0o755)).unwrap();
    }
    place
}

fn config(place: &Place, text: &str) {
    place.write("home/.config/flyto/config.json", text);
}

fn call<'a>(place: &'a Place, more: &[&str]) -> Flyto<'a> {
    let words = [&["--plugins", "../plugins", "call", "p:t"], more].concat();
    let tmp = place.path().join("tmp");
    place.flyto(&words).env("TMPDIR", tmp.to_str().unwrap()).command(|it| {
        it.current_dir(place.path().join("project"));
    })
}

const OPEN: &str = "read a secret: yes
read the home directory: yes
write into the project: yes
write elsewhere: yes
keep something: yes
";

const WORKSPACE: &str = "read a secret: no
read the home directory: yes
write into the project: yes
write elsewhere: no
keep something: yes
";

const STRICT: &str = "read a secret: no
read the home directory: no
write into the project: no
write elsewhere: no
keep something: yes
";

/// Whether profiles hold on this machine. Without, a call says so, which has a test of its own.
fn is_kept(place: &Place) -> bool {
    let ran = call(place, &["--sandbox", "strict"]).run();
    let is_refused = ran.code == Some(7);
    assert!(!is_refused || ran.stderr().contains("does not offer"), "{}", ran.shown());
    if is_refused {
        assert!(std::env::var_os("CI").is_none(), "{}", ran.shown());
    }
    !is_refused
}

#[track_caller]
fn check(place: &Place, more: &[&str], expect: &str) {
    let ran = call(place, more).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(ran.stdout(), expect);
}

#[test]
fn a_profile_holds_for_one_call() {
    let place = place();
    check(&place, &[], OPEN);
    if is_kept(&place) {
        check(&place, &["--sandbox", "workspace"], WORKSPACE);
        check(&place, &["--sandbox", "strict"], STRICT);
        check(&place, &["--sandbox", "none"], OPEN);
    }
}

#[test]
fn a_call_that_fails_under_a_profile_names_it() {
    let place = place();
    place.write("plugins/p/t.sh", "cat \"$HOME/.ssh/id\" || exit 1\nexit 1\n");
    let ran = call(&place, &[]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(!ran.stderr().contains("ran under"), "{}", ran.shown());
    if is_kept(&place) {
        let ran = call(&place, &["--sandbox", "strict"]).run();
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
        let told = "\"p:t\" ran under the sandbox \"strict\"";
        assert!(ran.stderr().contains(told), "{}", ran.shown());
        let dry = "`flyto --plugins ../plugins call p:t --sandbox strict --dry-run`";
        assert!(ran.stderr().contains(dry), "{}", ran.shown());
        let ran = call(&place, &["--sandbox", "strict", "--dry-run"]).run();
        assert!(ran.stdout().contains("\nsandbox      strict\n"), "{}", ran.shown());
        assert!(!ran.stdout().contains("ran under"), "{}", ran.shown());
    }
}

/// File permissions keep them from other users than root.
#[test]
fn the_secrets_of_the_system_are_closed_to_root_too() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let asks = r#"
for it in shadow gshadow; do cat /etc/$it >/dev/null 2>&1 && echo "$it: read"; done
cat /etc/passwd >/dev/null && echo 'passwd: read'
"#;
    place.write("plugins/p/t.sh", asks);
    for profile in ["workspace", "strict"] {
        check(&place, &["--sandbox", profile], "passwd: read\n");
    }
}

#[test]
fn the_configuration_names_profiles_for_all_or_by_class() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    config(&place, r#"{"sandbox": "workspace"}"#);
    check(&place, &[], WORKSPACE);
    check(&place, &["--sandbox", "none"], OPEN);
    config(&place, r#"{"sandbox": {"plugin_tool": "strict"}}"#);
    check(&place, &[], STRICT);
    config(&place, r#"{"sandbox": {"user_hook": "strict"}}"#);
    check(&place, &[], OPEN);
}

#[test]
fn a_profile_of_ones_own_extends_another() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let dir = place.path().display();
    config(
        &place,
        &format!(
            r#"{{"sandbox": {{"plugin_tool": "mine", "profiles": {{"mine": {{"extends": "workspace",
                "write": ["{dir}/elsewhere"], "deny": ["~/notes"], "network": "off"}}}}}}}}"#
        ),
    );
    let expect = "read a secret: no
read the home directory: no
write into the project: yes
write elsewhere: yes
keep something: yes
";
    check(&place, &[], expect);
}

#[test]
fn blocked_hosts_are_reported() {
    let place = place();
    let asks = r#"exec 3<>/dev/tcp/127.0.0.1/880 &&
        printf 'CONNECT a.test:443 HTTP/1.1\r\n\r\n' >&3 && read -r line <&3"#;
    place.write("plugins/p/t.sh", asks);
    let with_bash = r#"{"name": "p", "tools": [{"name": "t", "description": "x", "command": "bash",
        "args": ["t.sh"], "timeout_seconds": 60}]}"#;
    place.write("plugins/p/plugin.json", with_bash);
    let hosts = r#"{"sandbox": {"plugin_tool": "mine",
        "profiles": {"mine": {"extends": "none", "network": ["b.test"]}}}}"#;
    config(&place, hosts);
    let ran = call(&place, &[]).run();
    if ran.code == Some(7) {
        println!("skipped: networks are not limited to hosts here: {}", ran.stderr());
        return;
    }
    let told = "blocked \"p:t\" from connecting to a.test:443: host not allowed";
    assert!(ran.stderr().contains(told), "{}", ran.stderr());
    let document = call(&place, &["--format", "json"]).run().json();
    expect![[r#"[{"host":"a.test:443","why":"host not allowed"}]"#]]
        .assert_eq(&document["execution"]["denied_hosts"].to_string());
}

#[test]
fn a_project_narrows_and_never_widens() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    config(&place, r#"{"sandbox": "workspace"}"#);
    place.write("project/.flyto/config.json", r#"{"sandbox": "none"}"#);
    check(&place, &[], WORKSPACE);
    place.write("project/.flyto/config.json", r#"{"sandbox": "strict"}"#);
    check(&place, &[], STRICT);
}

#[test]
fn a_grant_opens_what_a_profile_closes() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let dir = place.path().display();
    config(
        &place,
        &format!(
            r#"{{"sandbox": "strict", "plugins": {{"grants": {{"p": {{
                "write": ["{dir}/elsewhere"]}}}}}}}}"#
        ),
    );
    check(&place, &[], &STRICT.replace("elsewhere: no", "elsewhere: yes"));
}

#[test]
fn a_grant_of_one_file_opens_that_file() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let dir = place.path().display();
    let tries = r#"cd ../../project
for it in old .git/config .git/hooks/a ../elsewhere/old; do
    if echo y >>"$it"; then echo "$it: yes"; else echo "$it: no"; fi
done 2>/dev/null"#;
    place.write("plugins/p/t.sh", tries);
    place.write("project/.git/config", "x");
    place.write("project/.git/hooks/a", "x");
    let files = format!(r#"["{dir}/project/.git/config", "{dir}/elsewhere/old"]"#);
    let grants = format!(r#""plugins": {{"grants": {{"p": {{"write": {files}}}}}}}"#);
    config(&place, &format!(r#"{{"sandbox": "workspace", {grants}}}"#));
    let expect = "old: yes\n.git/config: yes\n.git/hooks/a: no\n../elsewhere/old: yes\n";
    check(&place, &[], expect);
    let profile = format!(
        r#""sandbox": {{"plugin_tool": "mine", "profiles": {{"mine": {{"extends": "strict",
            "read": ["{dir}/project"], "write": {files}}}}}}}"#
    );
    config(&place, &format!("{{{profile}}}"));
    check(&place, &[], &expect.replace("old: yes\n.git", "old: no\n.git"));
}

/// A tool that may write a directory puts a link in the place of what is granted below it.
#[test]
fn a_link_in_the_place_of_a_granted_directory_grants_nothing() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let dir = place.path().display();
    let granted = |shared: &str| {
        format!(
            r#"{{"sandbox": {{"plugin_tool": "mine", "profiles": {{"mine": {{"extends": "workspace",
                "write": ["{dir}/{shared}"]}}}}}}}}"#
        )
    };
    config(&place, &granted("project/out"));
    symlink(place.path().join("elsewhere"), place.path().join("project/out")).unwrap();
    let ran = call(&place, &[]).run();
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), WORKSPACE), "{}", ran.shown());
    let remark =
        "\"DIR/project/out\" grants nothing: \"DIR/project/out\" is a link to \"DIR/elsewhere\"";
    assert!(ran.shown().contains(remark), "{}", ran.shown());

    config(
        &place,
        &format!(r#"{{"plugins": {{"grants": {{"p": {{"write": ["{dir}/project/out"]}}}}}}}}"#),
    );
    check(&place, &["--sandbox", "workspace"], WORKSPACE);

    config(&place, "{}");
    let tmp = place.path().join("project/out");
    let ran = call(&place, &["--sandbox", "workspace"]).env("TMPDIR", tmp.to_str().unwrap()).run();
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), WORKSPACE), "{}", ran.shown());
    let remark = "$TMPDIR: the directory for temporary files is not granted";
    assert!(ran.stderr().contains(remark), "{}", ran.shown());

    // What a plugin keeps lies where the call before could not have led it.
    let data = place.path().join("home/.local/share/flyto/plugins/p");
    std::fs::remove_dir_all(&data).unwrap();
    symlink(place.path().join("elsewhere"), &data).unwrap();
    let lost = WORKSPACE.replace("something: yes", "something: no");
    check(&place, &["--sandbox", "workspace"], &lost);
}

#[test]
fn a_secret_is_closed_also_where_a_variable_moves_it() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let reads = r#"for it in .zeptoclaw/config.json .viminfo .config/nushell/history.txt moved/key state/nvim/shada/main \
        notes; do cat "$HOME/$it" >/dev/null 2>&1 && echo "$it"; done; true"#;
    place.write("plugins/p/t.sh", reads);
    for path in [
        ".zeptoclaw/config.json",
        ".viminfo",
        ".config/nushell/history.txt",
        "moved/key",
        "state/nvim/shada/main",
    ] {
        place.write(&format!("home/{path}"), "secret");
    }
    let home = place.path().join("home");
    let at = |path: &str| home.join(path).display().to_string();
    let call = |more: &[&str]| {
        let ran = call(&place, more);
        ran.env("GNUPGHOME", &at("moved")).env("XDG_STATE_HOME", &at("state")).run().stdout()
    };
    assert_eq!(call(&["--sandbox", "none"]).lines().count(), 6);
    assert_eq!(call(&["--sandbox", "workspace"]), "notes\n");
}

#[test]
fn workspace_is_refused_where_it_would_open_the_home_directory() {
    let place = place();
    place.write("plugins/p/t.sh", "echo x >\"$HOME/ran\"; echo ran");
    place.write("home/tools.json", r#"{"name": "e", "description": "x", "exec": ["true"]}"#);
    let words = ["--plugins", "../plugins", "--exec-tools", "../home/tools.json"];
    let flyto = |dir: &str, more: &[&str]| {
        let ran = place.flyto(&[&words, more].concat()).command(|it| {
            it.current_dir(place.path().join(dir));
        });
        ran.run()
    };
    config(&place, r#"{"sandbox": "workspace"}"#);
    let ran = flyto("home", &["call", "p:t"]);
    expect![[r#"
        exit code 5
        -- stderr
        /tmp: the directory for temporary files "/tmp" is not granted: the home directory "DIR/home" would be writable; `flyto --plugins ../plugins --exec-tools ../home/tools.json list --problems` shows it
        error: plugin tool "p:t" exec failed: failed to start "sh": in "DIR/home", the sandbox profile "workspace" would make the home directory "DIR/home" writable
          help: change to the directory of a project, or use `--sandbox strict` or a profile that extends "strict" and has `write`
    "#]].assert_eq(&ran.shown());
    let shown = ran.shown();
    assert_eq!(flyto("home/.ssh/..", &["call", "p:t"]).shown(), shown);
    assert_eq!(flyto("home", &["call", "e"]).code, Some(5));
    assert!(!place.exists("home/ran"));

    let reason = "would make the home directory \"DIR/home\" writable";
    let dry = flyto("home", &["call", "p:t", "--dry-run"]);
    assert_eq!(dry.code, Some(5), "{}", dry.shown());
    assert_eq!(dry.shown().matches(reason).count(), 1, "{}", dry.shown());
    let show = flyto("home", &["show", "p:t"]);
    assert!(show.code == Some(0) && show.shown().contains(reason), "{}", show.shown());
    let list = flyto("home", &["list", "--problems"]);
    assert!(list.code == Some(0) && list.shown().contains(reason), "{}", list.shown());
    let file = ".config/flyto/config.json";
    assert_eq!(flyto("home", &["validate", file]).code, Some(0));
    assert_eq!(flyto("home", &["call", "p:t", "--sandbox", "none"]).code, Some(0));
    assert!(place.exists("home/ran"));
}

/// Tries to change each of the files and directories of the project that are named.
const CHANGES: &str = r#"
cd "$PROJECT"
for it in mine.json tools.json plugins/p/plugin.json plugins/p/t.sh; do
    cat $it >/dev/null && echo "$it: read"
    for change in "echo x >$it" "rm $it" "mv $it other" "mv notes $it" "mkdir $it.d && mv $it.d $it"; do
        if (eval "$change") 2>/dev/null; then echo "$it: $change"; fi
    done
done
if mv plugins other 2>/dev/null; then echo "plugins: moved"; fi
if echo x >notes; then echo "notes: written"; fi
"#;

#[test]
fn what_decides_later_calls_stays_where_a_tool_may_write() {
    let place = place();
    if !is_kept(&place) {
        return;
    }
    let script = format!("PROJECT={}/project\n{CHANGES}", place.path().display());
    place.write("project/plugins/p/t.sh", &script);
    place.write(
        "project/plugins/p/plugin.json",
        r#"{"name": "p", "tools": [{"name": "t", "description": "x", "command": "sh",
            "args": ["t.sh"], "timeout_seconds": 60}]}"#,
    );
    place.write("project/tools.json", r#"{"tools": []}"#);
    place.write("project/notes", "x");
    place.write("project/mine.json", r#"{"sandbox": "workspace"}"#);
    let expect = "mine.json: read
tools.json: read
plugins/p/plugin.json: read
plugins/p/t.sh: read
notes: written
";
    let tmp = place.path().join("tmp");
    let flyto = |words: &[&str], named: Option<&str>| {
        let ran = place.flyto(words).env("TMPDIR", tmp.to_str().unwrap());
        let ran = named.into_iter().fold(ran, |it, path| it.env("FLYTO_CONFIG", path));
        let ran = ran.command(|it| {
            it.current_dir(place.path().join("project"));
        });
        let ran = ran.run();
        assert_eq!((ran.code, ran.stdout()), (Some(0), expect.into()), "{}", ran.shown());
    };
    let call = ["--plugins", "plugins", "--exec-tools", "tools.json", "call", "p:t"];
    flyto(&[&["--config", "mine.json"], &call[..]].concat(), None);
    flyto(&call, Some("mine.json"));
    // By a link that leads there.
    symlink("project", place.path().join("link")).unwrap();
    let link = place.path().join("link/mine.json");
    flyto(&[&["--config", link.to_str().unwrap()], &call[..]].concat(), None);
    // A file that sets nothing, or only what a flag overrides.
    place.write("project/mine.json", "{}");
    let sandboxed = [&call[..], &["--sandbox", "workspace"]].concat();
    flyto(&sandboxed, Some("mine.json"));
    place.write("project/mine.json", r#"{"plugins": {"enabled": false}}"#);
    flyto(&sandboxed, Some("mine.json"));
    place.write("config.json", "{}");
    // The user's own file, which a link keeps in the project.
    place.write("home/.config/flyto/other", "");
    symlink(
        place.path().join("project/mine.json"),
        place.path().join("home/.config/flyto/config.json"),
    )
    .unwrap();
    flyto(&sandboxed, None);
    flyto(&[&["--config", "../config.json"], &sandboxed[..]].concat(), None);
    // A plugin that a link brings into the directory of plugins.
    place.write("links/other", "");
    symlink(place.path().join("project/plugins/p"), place.path().join("links/p")).unwrap();
    let linked = ["--plugins", "../links", "--exec-tools", "tools.json", "call", "p:t"];
    flyto(&[&linked[..], &["--sandbox", "workspace"]].concat(), None);
    // Named by the configuration.
    let text = r#"{"sandbox": "workspace", "plugins": {"enabled": true, "plugin_dirs": ["plugins"]},
        "exec_tools": ["tools.json"]}"#;
    place.write("project/mine.json", text);
    flyto(&["--config", "mine.json", "call", "p:t"], None);
}

#[test]
fn a_profile_that_is_not_there_is_named() {
    let place = place();
    call(&place, &["--sandbox", "strikt"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: there is no sandbox profile "strikt"
          help: there are none, workspace, strict
    "#]]);
    config(&place, r#"{"sandbox": {"plugin_tool": "strikt"}}"#);
    call(&place, &[]).check(expect![[r#"
        exit code 3
        -- stderr
        error[F0312]: there is no sandbox profile "strikt"
         --> DIR/home/.config/flyto/config.json:1:29
          |
        1 | {"sandbox": {"plugin_tool": "strikt"}}
          |                             ^^^^^^^^
          |
          = at: /sandbox/plugin_tool
        help: did you mean "strict"?
          |
        1 - {"sandbox": {"plugin_tool": "strikt"}}
        1 + {"sandbox": {"plugin_tool": "strict"}}
          |

        error: the configuration cannot be used
    "#]]);
}

#[test]
fn a_dry_run_names_the_profile() {
    let place = place();
    let document = call(&place, &["--sandbox", "strict", "--dry-run", "--format", "json"]).run();
    let document: serde_json::Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!(document["sandbox"], serde_json::json!(["strict"]));
    assert_eq!(document["isolation"]["network"], "off");
}

/// A home directory with a program of pyenv, one of nvm, and one that its user wrote.
fn installed() -> Place {
    let place = place();
    let program = |path: &str, text: &str| {
        let path = place.write(path, text);
        rustix::fs::chmod(path, Mode::from_raw_mode(0o755)).unwrap();
    };
    let home = place.path().join("home").display().to_string();
    let exec = format!("#!/bin/sh\nexec {home}/.pyenv/versions/3.12/bin/${{0##*/}}\n");
    program("home/.pyenv/shims/python3", &exec);
    program("home/.pyenv/versions/3.12/bin/python3", "#!/bin/sh\necho pyenv\n");
    program("home/.nvm/versions/node/v22/bin/node", "#!/bin/sh\ncat ${0%/*}/../lib/name\n");
    program("home/.nvm/versions/node/v22/lib/name", "nvm\n");
    program("home/private/bin/tool", "#!/bin/sh\necho private\n");
    place.write("home/private/lib/data", "x");
    let tool = |name: &str, command: &str| {
        format!(r#"{{"name": "{name}", "description": "x", "command": "{command}"}}"#)
    };
    let tools = [
        tool("python", "python3"),
        tool("node", "node"),
        tool("private", &format!("{home}/private/bin/tool")),
        tool("sh", "true"),
    ];
    let manifest = format!(r#"{{"name": "p", "tools": [{}]}}"#, tools.join(", "));
    place.write("plugins/p/plugin.json", &manifest);
    place
}

fn in_project<'a>(place: &'a Place, words: &[&str]) -> Flyto<'a> {
    let home = place.path().join("home");
    let path = [".pyenv/shims", ".nvm/versions/node/v22/bin"].map(|it| home.join(it));
    let path = format!("{}:{}:/usr/bin:/bin", path[0].display(), path[1].display());
    let words = [&["--plugins", "../plugins"], words].concat();
    let tmp = place.path().join("tmp");
    place.flyto(&words).env("PATH", &path).env("TMPDIR", tmp.to_str().unwrap()).command(|it| {
        it.current_dir(place.path().join("project"));
    })
}

#[test]
fn an_installed_program_runs_and_what_that_opens_is_listed() {
    let place = installed();
    config(
        &place,
        r#"{"sandbox": {"profiles": {"mine": {"extends": "strict", "network": "on"}}}}"#,
    );
    let home = place.path().canonicalize().unwrap().join("home").display().to_string();
    let says = |words: &[&str]| in_project(&place, words).run();
    if says(&["call", "p:sh", "--sandbox", "strict"]).code == Some(7) {
        return;
    }
    for profile in ["none", "workspace", "strict", "mine"] {
        for (tool, printed) in [("python", "pyenv\n"), ("node", "nvm\n")] {
            let ran = says(&["call", &format!("p:{tool}"), "--sandbox", profile]);
            assert_eq!((ran.code, ran.stdout().as_str()), (Some(0), printed), "{}", ran.shown());
        }
    }
    let row = |it: &str| format!("opened       {it} (the program's installation)\n");
    let (pyenv, node) = (format!("{home}/.pyenv"), format!("{home}/.nvm/versions/node/v22"));
    for (tool, path) in [("p:python", &pyenv), ("p:node", &node)] {
        let ran = says(&["call", tool, "--sandbox", "strict", "--dry-run"]);
        assert!(ran.code == Some(0) && ran.stdout().contains(&row(path)), "{}", ran.shown());
    }
    // What is readable anyway is not opened.
    for [tool, profile] in [["p:python", "workspace"], ["p:sh", "strict"], ["p:python", "none"]] {
        let ran = says(&["call", tool, "--sandbox", profile, "--dry-run"]);
        assert!(ran.code == Some(0) && !ran.stdout().contains("opened"), "{}", ran.shown());
    }
    config(&place, r#"{"sandbox": "strict"}"#);
    let ran = says(&["show", "p:node"]);
    assert!(ran.stdout().contains(&row(&node)), "{}", ran.shown());
    for words in [
        &["show", "p:node", "--format", "json"][..],
        &["call", "p:node", "--dry-run", "--format", "json"],
    ] {
        let ran = says(words);
        let document: serde_json::Value = serde_json::from_str(&ran.stdout()).unwrap();
        assert_eq!(document["opened"], serde_json::json!([node]), "{}", ran.shown());
        assert!(document["isolation"].to_string().contains(&node), "{}", ran.shown());
    }
}

#[test]
fn a_closed_program_is_named_with_the_profile_and_the_grant() {
    let place = installed();
    let says = |words: &[&str]| in_project(&place, words).run();
    if says(&["call", "p:sh", "--sandbox", "strict"]).code == Some(7) {
        return;
    }
    let home = place.path().canonicalize().unwrap().join("home").display().to_string();
    let ran = says(&["call", "p:private", "--sandbox", "strict"]);
    let shown = ran.stderr().replace(&home, "HOME");
    expect![[r#"
        error: plugin tool "p:private" exec failed: failed to start "HOME/private/bin/tool": the sandbox profile "strict" closes "HOME/private/bin/tool"
          help: the sandbox profile "strict" closes HOME/private/bin/tool; to open it, put {"plugins":{"grants":{"p":{"read":["HOME/private/bin"]}}}} into HOME/.config/flyto/config.json
    "#]]
    .assert_eq(&shown);
    let ran = says(&["call", "p:private", "--sandbox", "strict", "--dry-run"]);
    assert_eq!(ran.code, Some(7), "{}", ran.shown());
    let row =
        format!("closed       {home}/private/bin/tool (without it, the program does not start)");
    assert!(ran.stdout().contains(&row), "{}", ran.shown());
    // The grant that was named.
    let grant =
        format!(r#"{{"plugins": {{"grants": {{"p": {{"read": ["{home}/private/bin"]}}}}}}}}"#);
    config(&place, &grant);
    let ran = says(&["call", "p:private", "--sandbox", "strict"]);
    assert_eq!(ran.stdout(), "private\n", "{}", ran.shown());
}
