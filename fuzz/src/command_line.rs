//! Command lines, as a decision takes them apart.

use std::sync::LazyLock;

use flyto_permission::{Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::json;

/// Rules of each kind that a command line is compared with.
static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let mut res = Rules::builder();
    for (effect, text) in [
        (Verdict::Allow, "Bash(git diff:*)"),
        (Verdict::Allow, "Bash(sudo make install)"),
        (Verdict::Ask, "Bash(git push:*)"),
        (Verdict::Deny, "Bash(rm:*)"),
        (Verdict::Deny, "Edit(/none/*.key)"),
    ] {
        res.add(Layer::Operator, effect, text, Place::default()).expect("these are rules");
    }
    res.build()
});

/// A command line: as the text of a shell, as words of a program, one a line, and as an input.
///
/// # Panics
///
/// A decision has more reasons than the text pays for, or suggests what is no rule.
pub fn command_line(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let shell = Preview::new().with_command_line(["bash", "-c", &text]);
    let program = Preview::new().with_command_line(text.split('\n'));
    let id = ToolId::parse("shell:run").expect("this is a name");
    let request = Request::new(&id)
        .class(&PermissionClass::BASH)
        .working_dir("/none".as_ref())
        .home("/none/home".as_ref());
    let input = json!({ "command": text });
    for request in
        [request.preview(Some(&shell)), request.preview(Some(&program)), request.input(&input)]
    {
        let decision = RULES.decide(&request);
        assert!(!decision.reasons.is_empty(), "each decision has a reason");
        // A command has at most 40 programs in each other, and a byte at least.
        let n_found = decision.reasons.len() + decision.dangers.len();
        assert!(n_found <= 100 * (text.len() + 1), "{n_found} for {} bytes", text.len());
        let mut rules = Rules::builder();
        for rule in decision.suggested_rules() {
            let added = rules.add(Layer::Operator, Verdict::Allow, rule, Place::default());
            added.expect("what is suggested is a rule");
        }
        assert!(!decision.to_string().is_empty());
    }
}
