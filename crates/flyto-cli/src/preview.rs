//! What a call would run and hand over, for people.

use flyto_tools::Preview;

use crate::words::{bytes, command_line, one_line, tame, time};

/// The facts of a preview, each with its name.
pub(crate) fn facts(preview: &Preview) -> Vec<(&'static str, String)> {
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
        let names = if preview.env_names.is_empty() {
            "no variables".to_owned()
        } else {
            one_line(&preview.env_names.join(" "))
        };
        res.push(("environment", names));
    }
    if let Some(deadline) = preview.deadline {
        res.push(("deadline", time(deadline)));
    }
    if let Some(stdin) = &preview.stdin {
        res.push(("stdin", bytes(stdin.len() as u64)));
    }
    for problem in &preview.problems {
        res.push(("problem", tame(problem)));
    }
    res
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use flyto_tools::Access;

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
            .with_problem("TOKEN has no value");
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
        .assert_eq(&table::facts(Page::default(), &facts(&preview)));
    }

    #[test]
    fn a_tool_without_a_program_has_no_environment() {
        let preview = Preview::new().with_url("https://example.com/");
        expect![[r#"
            reaches  https://example.com/
        "#]]
        .assert_eq(&table::facts(Page::default(), &facts(&preview)));
    }
}
