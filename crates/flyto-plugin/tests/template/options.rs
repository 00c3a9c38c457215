//! Programs that run the values of some options, and words that mean something to one program alone.

use flyto_plugin::ToolDef;
use serde_json::{Value, json};

use crate::{Host, code::check_refused};

fn schema() -> Value {
    json!({"type": "object", "properties": {"x": {}, "y": {}}})
}

#[track_caller]
fn check_loads(commands: &[&str]) {
    for command in commands {
        if let Err(err) = ToolDef::template("t", command, schema()) {
            panic!("{err}");
        }
    }
}

#[test]
fn refused_in_options_and_operands_that_are_run() {
    check_refused(&[
        "sqlite3 db {{x}}",
        "sqlite3 -cmd {{x}} db",
        "sqlite3 -safe -cmd {{x}} db",
        "sqlite3 -init {{x}} db",
        "duckdb db -c {{x}}",
        "psql -c {{x}}",
        "psql -qtAc {{x}} db",
        "psql --command={{x}}",
        "psql -f {{x}}",
        "psql -o {{x}} db",
        "docker exec c psql -c {{x}}",
        "mysql -e {{x}}",
        "mysql --exec={{x}}",
        "mongosh --eval {{x}}",
        "redis-cli -h h eval {{x}} 0",
        "rsync -e {{x}} a b",
        "rsync -ave {{x}} a b",
        "rsync --rsh={{x}} a b",
        "rsync --rsync-path {{x}} a b",
        "rsync -{{x}} a b",
        "scp -o ProxyCommand={{x}} a b",
        "scp -S {{x}} a b",
        "sftp -b {{x}} h",
        "emacs -eval {{x}}",
        "emacs --eval={{x}}",
        "emacs -batch -f {{x}}",
        "emacs -l {{x}}",
        "emacsclient -ne {{x}}",
        "emacsclient {{x}} --eval p",
        "nvim -l {{x}}",
        "nvim -c {{x}}",
        "nvim +{{x}}",
        "vim -es -c {{x}} f",
        "vim -S {{x}}",
        "gvim --remote-send {{x}}",
        "bun eval {{x}}",
        "bun -e {{x}}",
        "bun x {{x}}",
        "make NAME={{x}}",
        "make -- NAME={{x}}",
        "make A={{x}}{{y}} all",
        "tar --to-command={{x}} -xf a",
        "tar --to-com {{x}} -xf a",
        "tar --checkpoint-action=exec={{x}} -cf a b",
        "tar -cI {{x}} -f a b",
        "tar cIf {{x}} a b",
        "tar --use-compress-program={{x}} -cf a b",
        "zip -TT {{x}} a b",
        "zip -rTT {{x}} a b",
        "wget -e {{x}} u",
        "wget --use-askpass={{x}} u",
        "rg --pre={{x}} a",
        "rg --pre {{x}} a",
        "sort --compress-program={{x}} f",
        "split --filter={{x}} f",
        "man -P {{x}} p",
        "less +{{x}} f",
        "m4 -D{{x}} f",
        "nc -e {{x}} h",
        "ncat --sh-exec {{x}} h",
        "socat TCP:{{x}} -",
        "gcc -wrapper {{x}} a.c",
        "gcc -fplugin={{x}} a.c",
        "java -agentpath:{{x}} A",
        "hg --config {{x}} log",
        "svn diff --diff-cmd {{x}}",
        "ansible all -m shell -a {{x}}",
        "docker run --entrypoint={{x}} i",
        "cargo --config {{x}} build",
        "go test -exec {{x}} ./...",
        "strace -o {{x}} p",
        "hyperfine {{x}}",
        "erl -eval {{x}}",
        "matlab -batch {{x}}",
        "sbcl --eval {{x}}",
        "nu -c {{x}}",
    ]);
}

#[test]
fn refused_where_a_program_is_named() {
    check_refused(&[
        "npx {{x}}",
        "npx -y {{x}}",
        "npx --package {{x}} p",
        "npx -c {{x}}",
        "uvx {{x}}",
        "run0 {{x}}",
        "valgrind --leak-check=full {{x}}",
        "valgrind sh -c {{x}}",
        "xvfb-run -- {{x}}",
        "bundle exec {{x}}",
        "npm exec -- {{x}}",
        "uv run --with p {{x}}",
        "poetry run {{x}}",
        "kubectl exec c -- {{x}}",
        "systemd-run --user -- {{x}}",
        "gosu u {{x}}",
        "sshpass -p a ssh h {{x}}",
        "autossh h {{x}}",
        "fd a -x {{x}}",
        "fd a --exec-batch sh -c {{x}}",
        "git config alias.x {{x}}",
        "git config {{x}} y",
        "git config --global core.pager {{x}}",
        "git clone ext::{{x}} d",
        "git clone --template={{x}} u",
        "git send-email --to-cmd={{x}}",
        "git daemon --access-hook={{x}}",
    ]);
}

#[test]
fn loads_where_nothing_of_it_is_run() {
    check_loads(&[
        "sqlite3 -safe db {{x}}",
        "sqlite3 -json {{x}} 'select 1'",
        "sqlite3 -separator , {{x}} 'select 1'",
        "psql -v x={{x}} -f q.sql db",
        "psql -d {{x}} -f q.sql",
        "mysql -u {{x}} db",
        "mongosh {{x}} --eval p",
        "redis-cli eval p 0 {{x}}",
        "redis-cli get {{x}}",
        "rsync -e ssh {{x}} b",
        "rsync -av --delete {{x}} {{y}}",
        "rsync --exclude={{x}} a b",
        "scp -P {{x}} a h:b",
        "emacs --batch --eval p {{x}}",
        "emacsclient -n {{x}}",
        "nvim {{x}}",
        "vim -es f {{x}}",
        "bun run f.ts {{x}}",
        "make -C {{x}} all",
        "make {{x}}",
        "env NAME={{x}} make all",
        "tar -czf {{x}} {{y}}",
        "tar xzf {{x}} -C {{y}}",
        "tar --checkpoint={{x}} -cf a b",
        "zip -T {{x}}",
        "wget -O {{x}} {{y}}",
        "rg -e {{x}} {{y}}",
        "rg -C{{x}} a",
        "sort -k {{x}} f",
        "less {{x}}",
        "gcc -O2 -o {{x}} -I{{y}} a.c",
        "java -jar a.jar {{x}}",
        "hg log -R {{x}}",
        "docker run -v {{x}}:/d i p {{y}}",
        "cargo test {{x}}",
        "go test -run {{x}} ./...",
        "strace -f p {{x}}",
        "npx eslint {{x}}",
        "npx --package=p q {{x}}",
        "bundle exec rake {{x}}",
        "uv run f.py {{x}}",
        "kubectl exec c -- ls {{x}}",
        "kubectl get {{x}}",
        "fd {{x}} -x p {} {{y}}",
        "git config --global user.name {{x}}",
        "git config --get {{x}}",
        "git send-email --to {{x}} f",
    ]);
}

#[test]
fn refused_in_names_of_variables_and_calculations() {
    check_refused(&[
        "printf -v {{x}} %s y",
        "printf -v{{x}} %s y",
        "test -v {{x}}",
        "[ -v {{x}} ]",
        "[ -n {{x}} -a -v {{y}} ]",
        "A={{x}}\ntest -v \"$A\"",
        "A={{x}}\np ${!A}",
        "A={{x}}\np \"${!A}\"",
        "A={{x}}\np $((A + 1))",
        "A={{x}}\np $(($A + 1))",
        "A={{x}}\np ${B:A}",
        "A={{x}}\np ${B[A]}",
        "A={{x}}\np ${A@P}",
        "A={{x}}\np > ${!A}",
        "A={{x}}\nB=$A\np $((B))",
        "A={{x}}\n: ${B:=$A}\np $((B))",
        "export A={{x}}\np $((A))",
        "for A in {{x}}\ndo\np $((A))\ndone",
        "while p\ndo\nq $((B))\nB=$A\nA={{x}}\ndone",
        "A={{x}}\np $(q $((A)))",
    ]);
    check_loads(&[
        "printf %s {{x}}",
        "printf -v A %s {{x}}",
        "[ {{x}} = a ]",
        "test -f {{x}}",
        "A={{x}}\np $A ${A} ${#A} ${A:-b} ${A:1} ${A%.c}",
        "A={{x}}\nAB=1\np $((AB + 1)) ${!AB}",
        "p $((1 + 1)) {{x}}",
        "while p\ndo\nA={{x}}\nq $A\ndone",
    ]);
}

/// What one shell takes for a variable and another for an argument.
#[test]
fn refused_as_shells_differ() {
    for command in [
        "p {fd}>{{x}}",
        "p {fd}<f {{x}}",
        "exec {PATH}>f",
        "declare -i A={{x}}",
        "declare -i A\nA={{x}}",
        "typeset -n A={{x}}",
    ] {
        let err = ToolDef::template("t", command, schema()).expect_err(command);
        assert!(err.code().as_str() == "F0152" && err.help().is_some(), "{command}: {err}");
    }
    check_loads(&["p {fd} >{{x}}", "p {a,b}>{{x}}", "p 3>{{x}}", "p '{fd}' {{x}}"]);
}

/// Chains of variables through loops end, however long they are.
#[test]
fn endless_chains_of_variables_are_refused() {
    let mut command = "while p\ndo\n".to_owned();
    for at in 0..40 {
        command += &format!("V{at}=$V{}\n", at + 1);
    }
    command += "V40={{x}}\ndone";
    let err = ToolDef::template("t", &command, schema()).expect_err("a chain");
    assert_eq!(err.code().as_str(), "F0152", "{err}");
}

/// A value cannot be known before the call, so these are refused then.
#[test]
fn words_that_a_value_may_not_be() {
    for (command, value, refused) in [
        ("make {{x}}", "A=$(shell id)", true),
        ("make -j {{x}}", "A=1", true),
        ("make -- {{x}}", "A:=1", true),
        ("make a{{x}}", "=1", true),
        ("make -C {{x}} all", "a=b", false),
        ("make {{x}}", "$(shell id)", false),
        ("find . -exec p {{x}} ';'", ";", true),
        ("find . -exec p {} {{x}} ';'", "+", true),
        ("find . -exec p {{x}} ';'", "a{}", true),
        ("find . -exec p {{x}} ';'", ";a", false),
        ("find . -exec p -k{{x}} ';'", ";", false),
        ("find . -exec p ';' -name {{x}}", ";", false),
        ("find . -name {{x}}", "{}", false),
        ("fd a -x p {{x}}", ";", true),
        ("fd a -x p {{x}}", "{/}", true),
        ("fd a -x p {{x}}", "a+", false),
        ("fd {{x}}", ";", false),
    ] {
        let def = ToolDef::template("t", command, schema()).expect("a template");
        let shown = Host::new().words(def, json!({ "x": value }));
        assert_eq!(shown.contains('!'), refused, "{command} with {value}: {shown}");
    }
}

#[test]
fn the_safe_form_is_shown() {
    for (command, safe) in [
        ("sqlite3 db {{x}}", "`-safe`"),
        ("psql -c {{x}}", "`psql -v x={{x}} -f FILE`"),
        ("make A={{x}}", "`env NAME={{x}} make`"),
        ("redis-cli eval {{x}} 0", "`redis-cli eval '…' 0 {{x}}`"),
        ("p {fd}>{{x}}", "`3>`"),
        ("A={{x}}\np $((A))", "`expr {{x}} + 1`"),
        ("emacs -eval {{x}}", "`emacs --batch --eval '…' {{x}}`"),
        ("npx {{x}}", "write the program itself"),
    ] {
        let err = ToolDef::template("t", command, schema()).expect_err(command);
        assert!(err.help().is_some_and(|it| it.contains(safe)), "{command}: {err}");
    }
}
