//! How long does a decision take over 10,000 rules? `cargo run --release --example cost`, or with a part of the name of
//! one case: `cost 41`.
//!
//! The reach is 50 µs. Last answer, medians of 2,000 on two virtual CPUs that others used as well: 12 µs for `git diff --stat`,
//! 64 µs for a line of 200 bytes with 10 commands, 70 µs for 41 commands, 12 µs for a file, 2 µs for a host, a name or the
//! argv of a plugin. On such a machine instructions tell more than times (`valgrind --tool=callgrind
//! --toggle-collect=flyto_permission::decide::decide`): 55,000, 383,000 and 579,000 for the first three, where there were 72,000,
//! 499,000 and 783,000, and 14 system calls for the second, where there were 64. A quarter of them is the allocator's.

#![allow(clippy::print_stdout, reason = "this is a program for people")]

use std::{hint::black_box, path::Path, time::Instant};

use flyto_permission::{ClassTrust, Layer, Place, Request, Rules, Verdict};
use flyto_tools::{Access, PermissionClass, Preview, ToolId};

fn rules(n: usize) -> Result<Rules, flyto_permission::RuleError> {
    let mut res = Rules::builder();
    for i in 0..n {
        let effect = [Verdict::Allow, Verdict::Ask, Verdict::Deny][i % 3];
        let text = match i % 8 {
            0 => format!("Bash(git sub{i}:*)"),
            1 => format!("Bash(tool{i} run:*)"),
            2 => format!("plugin{i}:*"),
            3 => format!("plugin:tool{i}"),
            4 => format!("Read(/srv/data{i}/**)"),
            5 => format!("Edit(src/part{i}/*.rs)"),
            6 => format!("WebFetch(domain:host{i}.example.org)"),
            _ => format!("WebFetch(domain:*.zone{i}.example.org)"),
        };
        res.add(Layer::Operator, effect, &text, Place::new("config.json", 1, 1, ""))?;
    }
    for text in ["Bash(git diff:*)", "Edit(src/**)", "WebFetch(domain:*.example.org)"] {
        res.add(Layer::Operator, Verdict::Allow, text, Place::new("config.json", 2, 1, ""))?;
    }
    Ok(res.roots([std::env::temp_dir()]).build())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = rules(10_000)?;
    let id = ToolId::parse("plugin:tool9999")?;
    let dir = std::env::temp_dir();
    let dir_text = dir.to_string_lossy();
    let text = |it: &str| {
        Preview::new().with_command_line(["bash", "-c", it]).with_working_dir(&*dir_text)
    };
    let long = "git diff --stat | git diff && ".repeat(20) + "git diff";
    let cases = [
        ("git diff --stat", PermissionClass::BASH, text("git diff --stat")),
        (
            "a line of 200 bytes",
            PermissionClass::BASH,
            text(
                "if git diff \"$(git diff HEAD~1 -- src)\" | git diff; then timeout 5 env git diff --stat x y z; fi \
             && for f in a b c; do git diff \"$f\" 2>/dev/null; done; sh -c 'git diff; git diff' || git diff -- a/b/c",
            ),
        ),
        ("41 commands", PermissionClass::BASH, text(&long)),
        (
            "argv of a plugin",
            PermissionClass::BASH,
            Preview::new().with_command_line(["git", "diff", "x"]),
        ),
        (
            "a file",
            PermissionClass::FILE,
            Preview::new().with_path("src/part/a.rs", Access::Write).with_working_dir(&*dir_text),
        ),
        ("a host", PermissionClass::WEBFETCH, Preview::new().with_url("https://a.b.example.org/x")),
        ("a name", PermissionClass::GENERIC, Preview::new()),
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, class, preview) in cases.iter().filter(|it| it.0.contains(&wanted)) {
        let request = Request::new(&id)
            .class(class)
            .class_trust(ClassTrust::Named)
            .preview(Some(preview))
            .home(Path::new("/home/ada"));
        let mut times: Vec<_> = (0..2_000)
            .map(|_| {
                let start = Instant::now();
                black_box(rules.decide(black_box(&request)));
                start.elapsed()
            })
            .collect();
        times.sort();
        let verdict = rules.decide(&request).verdict;
        println!(
            "{name:22} {verdict:6} median {:?}, 99 of 100 within {:?}",
            times[1000], times[1980]
        );
    }
    Ok(())
}
