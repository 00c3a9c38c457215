//! Whether a version that delivers something else in a confined run would do so outside of it.
//!
//! A confined run has no network, no variables, no files of the user, and bounds of its own. A difference that may come from
//! one of these says nothing about the version. So a text is compared only where all of it is [known](super::closed) to depend on
//! its input alone: what is told before that is the same with a better reason. A second run finds time and chance.
//!
//! | what is lacking | how it is seen |
//! | --- | --- |
//! | time, memory, output of the tool's own | the failure of the run |
//! | the network | programs that use it, addresses, `/dev/tcp` |
//! | variables of the host | names behind a dollar that the text does not set; `env`, `printenv` |
//! | files of the user | paths outside of the system's directories, conditions such as `[ -f x ]` |
//! | any of them | what programs complain about in the output; a program or a word that is not known |
//!
//! It is asked only where the two versions differ: a version that delivers the same needs none of it.

use std::{path::Path, time::Duration};

use flyto_tools::Failure;

use super::{closed::depends_on_more, confined::bound};
use crate::{Delivered, Facts, ToolDefinition, review::names_read};

/// Variables that a confined run has as the host has them.
const SAME_VARIABLES: &[&str] = &["PATH", "LANG", "LC_ALL"];

/// Variables that bash has by itself, of the process and of its directory.
const OTHER_VARIABLES: &[&str] = &["EUID", "OLDPWD", "PPID", "PWD", "UID"];

/// Programs that give the environment.
const ENVIRONMENT_PROGRAMS: &str = "env printenv";

/// Programs that reach other hosts, or a service of this machine.
const NETWORK_PROGRAMS: &str = "apt apt-get aws az brew cargo curl dig dnf docker ftp gcloud gh git go helm host kubectl mongosh mysql nc \
    ncat netcat npm npx nslookup ping pip pip3 pnpm podman psql redis-cli rsync scp sftp socat ssh telnet terraform uv wget yarn";

/// Directories whose files a confined run has as the host has them.
const SAME_DIRS: &str = "bin dev etc gnu lib lib32 lib64 libx32 nix opt proc sbin sys usr";

/// What programs say of something that a confined run lacks, and what that is.
const COMPLAINTS: &[(&str, &str)] = &[
    ("No such file or directory", "a file"),
    ("Permission denied", "a file"),
    ("Could not resolve host", "the network"),
    ("Name or service not known", "the network"),
    ("Temporary failure in name resolution", "the network"),
    ("Network is unreachable", "the network"),
    ("unbound variable", "a variable"),
];

/// How a condition of bash asks for a file.
const FILE_TESTS: &[&str] = &["-e", "-f", "-d", "-r", "-s", "-x", "-w", "-L", "-h"];

/// Whether a run met a bound of the replay and none of the tool: which one, for people.
pub(super) fn met_bound(
    def: &ToolDefinition,
    failure: Option<&Failure>,
    most_time: Duration,
) -> Option<String> {
    let failure = failure?;
    match failure {
        Failure::TimedOut { .. } if def.timeout() > most_time => Some(bound(failure)),
        Failure::Limit { .. } if def.body.text().is_some() => Some(bound(failure)),
        _ => None,
    }
}

/// What a text reads that a confined run does not have, for people; `None` where nothing is seen.
pub(super) fn reads_outside(def: &ToolDefinition, delivered: &Delivered) -> Option<String> {
    let text = def.body.text()?;
    let facts = Facts::of(def);
    let is_used = |names: &str| {
        facts.commands.iter().find(|it| {
            let name = it.rsplit('/').next().unwrap_or(it);
            names.split(' ').any(|it| it == name)
        })
    };
    if let Some(program) = is_used(NETWORK_PROGRAMS) {
        return Some(format!("it runs {program:?}, which may need the network"));
    }
    if let Some(url) = facts.urls.first() {
        return Some(format!("it names the address {url:?}, and there is no network"));
    }
    if text.contains("/dev/tcp/") || text.contains("/dev/udp/") {
        return Some("it opens a connection, and there is no network".to_owned());
    }
    let own = names_read(text).into_iter().filter(|it| OTHER_VARIABLES.contains(&it.as_str()));
    let mut names = facts.env_names.iter().cloned().chain(own);
    if let Some(name) = names.find(|it| !SAME_VARIABLES.contains(&it.as_str())) {
        return Some(format!("it reads the variable {name:?}, which a replay does not have"));
    }
    if let Some(program) = is_used(ENVIRONMENT_PROGRAMS) {
        return Some(format!("it runs {program:?}, and a replay has other variables"));
    }
    if let Some(path) = words(text).find(|it| is_outside(it)) {
        return Some(format!("it names {path:?}, which a replay does not have"));
    }
    if tests_file(text) {
        return Some("it asks whether a file is there, and a replay has none".to_owned());
    }
    let complaint = COMPLAINTS.iter().find(|it| delivered.text.contains(it.0));
    let complaint =
        complaint.map(|(said, what)| format!("it lacks {what}, as it says itself ({said:?})"));
    complaint.or_else(|| depends_on_more(text))
}

/// Words, taken apart also at quotes and at what separates commands.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|it| !it.trim_start().starts_with('#'));
    lines.flat_map(|it| it.split(|it: char| it.is_whitespace() || "\"'`;|&()<>={},:".contains(it)))
}

/// Whether a word is a path to what a confined run does not have.
fn is_outside(word: &str) -> bool {
    if word == "~" || word.starts_with("~/") || word.starts_with("../") || word == ".." {
        return true;
    }
    let Some(first) = word.strip_prefix('/').and_then(|it| it.split('/').next()) else {
        return false;
    };
    // The pattern of a program, such as `/total/` of awk, begins so too.
    !first.is_empty()
        && !SAME_DIRS.split(' ').any(|it| it == first)
        && Path::new("/").join(first).exists()
}

/// Whether a condition asks for a file.
fn tests_file(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|it| {
        let is_test = |it: &str| matches!(it.trim_start_matches('('), "[" | "[[" | "test" | "!");
        is_test(it[0]) && FILE_TESTS.contains(&it[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(script: &str) -> Option<String> {
        reads_outside(&ToolDefinition::script("t", "T.", script), &Delivered::default())
    }

    #[test]
    fn what_a_confined_run_lacks_is_told() {
        for (script, part) in [
            ("curl -s example.org || echo offline", "\"curl\""),
            ("/usr/bin/wget -q x", "wget"),
            ("python3 -c 'u = \"https://example.org\"'", "https://example.org"),
            ("exec 3<>/dev/tcp/127.0.0.1/80", "connection"),
            ("echo \"${DEPLOY_TOKEN:-none}\"", "\"DEPLOY_TOKEN\""),
            ("printenv | sort", "\"printenv\""),
            ("cat /home/ada/list", "\"/home/ada/list\""),
            ("cat ~/list", "\"~/list\""),
            ("ls ..", "\"..\""),
            ("if [ -f list ]; then cat list; fi", "a file is there"),
            ("[ -v GITHUB_TOKEN ] && echo yes || echo no", "\"GITHUB_TOKEN\""),
            ("echo $((GITHUB_N + 1))", "\"GITHUB_N\""),
            ("echo \"$PWD\"", "\"PWD\""),
            ("echo \"${!n}\"; n=A", "\"n\""),
            ("python3 -c 'import socket'", "\"python3\""),
        ] {
            let found = reason(script).unwrap_or_else(|| panic!("{script}"));
            assert!(found.contains(part), "{script}: {found}");
        }
        for script in [
            "echo \"$TOOL_INPUT_TEXT\" | wc -l",
            "A=1; echo \"$A $PATH\"",
            "awk '/nothing/ {print}'",
            "sed 's/a/b/' <<< \"$TOOL_INPUT_TEXT\" # not curl",
            "[ -n \"$TOOL_INPUT_TEXT\" ] && echo yes > /dev/null",
        ] {
            assert_eq!(reason(script), None, "{script}");
        }
    }

    #[test]
    fn what_a_program_says_that_it_lacks_is_told() {
        let text = "cat: list: No such file or directory\n".to_owned();
        let delivered = Delivered { text, ..Delivered::default() };
        let def = ToolDefinition::script("t", "T.", "cat list");
        assert!(reads_outside(&def, &delivered).is_some_and(|it| it.contains("lacks a file")));
    }
}
