//! Calls of one tool, and what rules say of them.

use std::path::Path;

use flyto_permission::{ClassTrust, Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::{Value, json};

/// Rules that allow the tool of the test, and deny this.
pub(crate) fn denying(text: &str) -> Rules {
    let mut res = Rules::builder();
    for (effect, text) in [(Verdict::Allow, "p:t"), (Verdict::Deny, text)] {
        res.add(Layer::Operator, effect, text, Place::default()).expect("these are rules");
    }
    res.build()
}

/// A call of that tool, which the operator named.
pub(crate) struct Call<'a> {
    pub(crate) class: PermissionClass,
    pub(crate) input: Value,
    pub(crate) words: &'a [&'a str],
    pub(crate) is_fixed: bool,
}

impl Call<'_> {
    #[track_caller]
    pub(crate) fn check(&self, rules: &Rules, expected: Verdict) {
        let id = ToolId::parse("p:t").expect("this is a name");
        let preview = Preview::new().with_command_line(self.words.iter().copied());
        let request = Request::new(&id)
            .class(&self.class)
            .class_trust(ClassTrust::Named)
            .input(&self.input)
            .preview((!self.words.is_empty()).then_some(&preview))
            .fixed(self.is_fixed)
            .home(Path::new("/home/ada"))
            .working_dir(Path::new("/home/ada/project"));
        let decision = rules.decide(&request);
        assert_eq!(decision.verdict, expected, "{} {:?}: {decision}", self.input, self.words);
    }
}

/// A script that its author fixed.
#[track_caller]
pub(crate) fn check_script(rules: &Rules, script: &str, expected: Verdict) {
    let words = &["bash", "-c", script, "t"];
    let class = PermissionClass::BASH;
    Call { class, input: json!({}), words, is_fixed: true }.check(rules, expected);
}

/// A tool of a class that gets this input on its stdin.
#[track_caller]
pub(crate) fn check_input(rules: &Rules, class: &PermissionClass, input: Value, expected: Verdict) {
    let words = &["./run"];
    Call { class: class.clone(), input, words, is_fixed: true }.check(rules, expected);
}

/// A tool of a class whose command line holds the value.
#[track_caller]
pub(crate) fn check_words(
    rules: &Rules,
    class: &PermissionClass,
    words: &[&str],
    expected: Verdict,
) {
    Call { class: class.clone(), input: json!({}), words, is_fixed: false }.check(rules, expected);
}
