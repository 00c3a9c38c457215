//! What does it cost to find many plugins, beside reading their files?
//!
//! 2026-11-23, AMD EPYC, 2 CPUs, Linux 6.18, pinned, at a load of 4: 3.49 [2.86, 4.11] times what a C
//! program takes that only reads them, for 1,000 plugins of one tool; 8.29 [7.63, 11.60] for ten tools
//! each. In the same runs it was 9.10 and 39.26 while every schema with a pattern was compiled. A tool
//! costs 43,000 instructions since 2026-11-25; it was 135,000.

use std::{fmt::Write, fs, path::Path};

use flyto_plugin::MANIFEST_FILE;

use crate::{
    Result,
    job::{Job, P50_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, least},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What a discovery may cost beside a program that lists, opens and reads the same files: one of plugins of a tool each,
/// and of plugins of ten.
fn reach(n_tools: usize) -> Reach {
    Reach::AtMost(if n_tools < 10 { 2.0 } else { 4.0 })
}

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    println!(
        "- the baseline has one thread; `discover` and `reload` have one for each CPU that they may use, at most 8"
    );
    if !options.unpinned {
        let place = cpus.pin()?;
        measure(options, &programs, &place)?;
    }
    // A start of a user's program may use them all.
    let place = cpus.unpin()?;
    measure(options, &programs, &place)
}

/// One table: every number of plugins with every number of tools, at one place.
fn measure(options: &Options, programs: &Programs, place: &str) -> Result {
    let rounds = options.rounds.unwrap_or(15);
    let variants = [Variant::Baseline, Variant::Discovery, Variant::Reload];
    let mut table =
        Table::new(["variant", "plugins", "tools", "best p50 ms", "p50, ratio", "reach", "met"]);
    for &n_plugins in &options.plugins {
        for &n_tools in &options.tools {
            let dir = tempfile::tempdir()?;
            let n_bytes = write_plugins(dir.path(), n_plugins, n_tools)?;
            println!(
                "- {n_plugins} plugins of {n_tools} tools: {} bytes each",
                n_bytes / n_plugins
            );
            let job = Job {
                child: dir.path().to_owned(),
                // About as many plugins in every run.
                calls: (20_000 / n_plugins).max(3),
                warm_up: 2,
                in_flight: 1,
                ..Job::default()
            };
            let entries = variants.map(|variant| Entry { variant, job: job.clone() });
            let samples = rounds::run(programs, &entries, rounds)?;
            let p50s: Vec<Vec<f64>> = samples.iter().map(|it| it.all(P50_US)).collect();
            for (variant, p50) in variants.into_iter().zip(&p50s) {
                let figure = Quartiles::of_ratios(p50, &p50s[0]);
                let (name, reach) = match (variant, &programs.baseline) {
                    (Variant::Baseline, Some(_)) => ("C readdir, open, read", Reach::None),
                    (Variant::Baseline, None) => ("Rust read_dir, open, read", Reach::None),
                    (Variant::Discovery, _) => (variant.name(), reach(n_tools)),
                    _ => (variant.name(), Reach::None),
                };
                let [reach, met] = reach.cells(figure);
                table.row([
                    name.to_owned(),
                    n_plugins.to_string(),
                    n_tools.to_string(),
                    format!("{:.2}", least(p50) / 1e3),
                    ratio(figure),
                    reach,
                    met,
                ]);
            }
        }
    }
    println!(
        "\nWarm, {place}; {rounds} rounds; ratios to the first row, a program of one thread:\n\n{table}"
    );
    Ok(())
}

/// Fills a directory with plugins like those that people write; says how long the manifests are.
pub(crate) fn write_plugins(dir: &Path, n_plugins: usize, n_tools: usize) -> Result<usize> {
    let mut n_bytes = 0;
    for i in 0..n_plugins {
        let dir = dir.join(format!("plugin-{i:05}"));
        fs::create_dir(&dir)?;
        fs::write(dir.join("run.sh"), "#!/bin/sh\n")?;
        make_executable(&dir.join("run.sh"))?;
        let mut tools = Vec::with_capacity(n_tools);
        for tool in 0..n_tools {
            // Both families, half and half, also where a plugin has one tool.
            tools.push(if (i + tool) % 2 == 0 { argv_tool(tool) } else { template_tool(tool) });
        }
        let mut text = String::new();
        write!(
            text,
            r#"{{
  "name": "plugin-{i:05}",
  "version": "1.{i}.0",
  "description": "Computes checksums of texts and files.",
  "author": "Flyto",
  "tools": [
    {}
  ]
}}
"#,
            tools.join(",\n    ")
        )?;
        n_bytes += text.len();
        fs::write(dir.join(MANIFEST_FILE), text)?;
    }
    Ok(n_bytes)
}

fn argv_tool(i: usize) -> String {
    format!(
        r#"{{
      "name": "digest_{i}",
      "title": "Checksum {i}",
      "description": "Returns the digest of a text (as UTF-8) or of a file in hexadecimal digits. Give exactly one of `text` and `path`.",
      "search_hint": "hash, digest, integrity",
      "input_schema": {{
        "type": "object",
        "properties": {{
          "text": {{ "type": "string", "description": "The text itself." }},
          "path": {{ "type": "string", "pattern": "^/", "description": "Absolute path of the file." }}
        }},
        "additionalProperties": false
      }},
      "command": "./run.sh",
      "args": ["digest", "--bits", "{i}"],
      "env": {{ "CACHE": "${{HOME}}/.cache/digest" }},
      "timeout_seconds": 120,
      "permission_class": "file",
      "audit_operation": "read",
      "concurrency_safe": true,
      "read_only": true,
      "destructive": false
    }}"#
    )
}

fn template_tool(i: usize) -> String {
    format!(
        r#"{{
      "name": "log_{i}",
      "description": "Shows the last commits of a repository, newest first, with author, date and subject.",
      "parameters": {{
        "type": "object",
        "properties": {{
          "count": {{ "type": "integer", "minimum": 1, "default": 10, "description": "How many commits to show." }},
          "path": {{ "type": "string", "description": "The directory of the repository." }},
          "author": {{ "type": "string", "description": "Only commits of this author." }}
        }},
        "required": ["path"]
      }},
      "command": "git -C {{{{path}}}} log --oneline -n {{{{count}}}} --author={{{{author}}}} -- .",
      "working_dir": "/tmp",
      "timeout_secs": 20,
      "env": {{ "GIT_PAGER": "cat" }},
      "category": "filesystem_read"
    }}"#
    )
}

fn make_executable(file: &Path) -> Result {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o755))?)
}
