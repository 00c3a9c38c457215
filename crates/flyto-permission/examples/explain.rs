//! Explains what would happen with a command line: `cargo run --example explain -- 'git diff | sh'`.

#![allow(clippy::print_stdout, reason = "this is a program for people")]

use flyto_permission::{Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};

const ALLOWED: &[&str] = &["Bash(git diff:*)", "Bash(git status)", "Bash(cargo test:*)"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = std::env::args().nth(1).unwrap_or_else(|| "git diff | sh".to_owned());
    let mut rules = Rules::builder();
    for text in ALLOWED {
        rules.add(Layer::Operator, Verdict::Allow, text, Place::new("explain.rs", 8, 0, ""))?;
    }
    let id = ToolId::parse("shell:run")?;
    let preview = Preview::new().with_command_line(["bash", "-c", &line]);
    let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
    let decision = rules.build().decide(&request);
    println!("{decision}");
    println!("{}", serde_json::to_string_pretty(&decision)?);
    Ok(())
}
