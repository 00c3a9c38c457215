//! What a call would run and hand over, for people.

use flyto_plugin::{Variable, VariableOrigin};
use flyto_tools::Preview;
use serde::Serialize;

use crate::words::{bytes, command_line, one_line, tame, time};

/// The facts of a preview, each with its name. `variables` say why the program sees what it sees.
pub(crate) fn facts(
    preview: &Preview,
    variables: Option<&[Variable]>,
) -> Vec<(&'static str, String)> {
    let mut res = Vec::new();
    if let Some(words) = &preview.command_line {
        res.push(("runs", tame(&command_line(words))));
    }
    if let Some(dir) = &preview.working_dir {
        res.push(("in", one_line(dir)));
    }
    for used in &preview.paths {
        let access = match used.access {
            flyto_tools::Access::Read => "reads",
            flyto_tools::Access::Write => "writes",
            _ => "touches",
        };
        res.push((access, one_line(&used.path)));
    }
    for url in &preview.urls {
        res.push(("reaches", one_line(url)));
    }
    if preview.command_line.is_some() {
        let environment = match variables {
            Some(variables) => with_reasons(variables),
            None => one_line(&preview.env_names.join(" ")),
        };
        let is_empty = environment.is_empty();
        res.push(("environment", if is_empty { "no variables".to_owned() } else { environment }));
    }
    if let Some(deadline) = preview.deadline {
        res.push(("deadline", time(deadline)));
    }
    if let Some(stdin) = &preview.stdin {
        res.push(("stdin", bytes(stdin.len() as u64)));
    }
    for problem in &preview.problems {
        res.push(("problem", tame(&problem.text)));
    }
    res
}

/// The names of variables by the reason for which the program sees them.
pub(crate) fn with_reasons(variables: &[Variable]) -> String {
    let mut lines = Vec::new();
    for (origin, reason) in REASONS {
        let of_origin = || variables.iter().filter(move |it| it.origin == origin);
        let plain = of_origin().filter(|it| it.reads.is_empty());
        let plain: Vec<_> = plain.map(|it| one_line(&it.name)).collect();
        if !plain.is_empty() {
            lines.push(format!("{} ({reason})", plain.join(" ")));
        }
        for it in of_origin().filter(|it| !it.reads.is_empty()) {
            let reads = one_line(&it.reads.join(", "));
            lines.push(format!("{} ({reason}, reads {reads})", one_line(&it.name)));
        }
    }
    lines.join("\n")
}

/// Each reason in words, in the order in which they override each other.
const REASONS: [(VariableOrigin, &str); 4] = [
    (VariableOrigin::Host, "the host's"),
    (VariableOrigin::Plugin, "the plugin's"),
    (VariableOrigin::Granted, "granted"),
    (VariableOrigin::Declared, "declared"),
];

/// A variable in a JSON document.
#[derive(Debug, Serialize)]
pub(crate) struct VariableDocument {
    name: String,
    /// `host`, `plugin`, `granted` or `declared`.
    origin: &'static str,
    /// The variables of the host that a declared value is made of.
    reads: Vec<String>,
}

/// Why a program sees its variables, for a JSON document.
pub(crate) fn variable_documents(variables: Vec<Variable>) -> Vec<VariableDocument> {
    let origin = |it: VariableOrigin| match it {
        VariableOrigin::Host => "host",
        VariableOrigin::Plugin => "plugin",
        VariableOrigin::Granted => "granted",
        VariableOrigin::Declared => "declared",
        _ => "other",
    };
    let document = |it: Variable| VariableDocument {
        name: it.name,
        origin: origin(it.origin),
        reads: it.reads,
    };
    variables.into_iter().map(document).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use flyto_tools::{Access, Problem, ProblemKind};

    use super::*;
    use crate::screen::Page;
    use crate::table;

    #[test]
    fn a_preview_reads_as_facts() {
        let preview = Preview::new()
            .with_command_line(["./count.py", "a b\u{1b}[31m"])
            .with_working_dir("/plugins/text stats")
            .with_path("/tmp/a", Access::Read)
            .with_path("/tmp/b", Access::Unknown)
            .with_url("https://example.com/")
            .with_env_names(["HOME", "PATH"])
            .with_deadline(Duration::from_secs(90))
            .with_stdin("{}")
            .with_problem(Problem::new(ProblemKind::Failed, "TOKEN has no value"));
        expect![[r#"
            runs         ./count.py $'a b\x1b[31m'
            in           /plugins/text stats
            reads        /tmp/a
            touches      /tmp/b
            reaches      https://example.com/
            environment  HOME PATH
            deadline     1 min 30 s
            stdin        2 B
            problem      TOKEN has no value
        "#]]
        .assert_eq(&table::facts(Page::default(), &facts(&preview, None)));
    }

    #[test]
    fn a_tool_without_a_program_has_no_environment() {
        let preview = Preview::new().with_url("https://example.com/");
        expect![[r#"
            reaches  https://example.com/
        "#]]
        .assert_eq(&table::facts(Page::default(), &facts(&preview, None)));
    }
}
