//! Whether what a program is handed is too long for any start.
//!
//! Each word by itself is bounded when it is read; here all of them are looked at together, with the values that variables have
//! now. Only an author who asks is told ([`Depth::Full`]): for each start the values are made anew.
//!
//! What is not known counts with the fewest bytes that it can have: variables that are not set, values of a call, what the
//! operator grants.

use std::ffi::OsStr;

use flyto_diagnostics::{At, Diagnostic, Findings, codes::BAD_VALUE};
use flyto_execenv::{
    Declared, EnvPolicy, Environment, MAX_VALUES_BYTES, Template, ValueError, WordsTooLong,
    argument_bytes, variable_bytes,
};
use flyto_program::MAX_ARGUMENT_BYTES;

use super::{def::Invocation, env::variable_length, place::Place, servers::def::Transport};
use crate::{environment::PLUGIN_ROOT, options::Depth};

/// Warns of a tool whose variables, or arguments with them, no call can hand over. `invocation` is `None` where it could not
/// be read.
pub(super) fn check_tool(
    at: At<'_>,
    declared: &Declared,
    invocation: Option<&Invocation>,
    place: Place<'_>,
    findings: &mut Findings,
) {
    let Some(start) = Start::new(at, declared, place, "each call of it fails") else { return };
    let check = || {
        let declared_bytes = start.declared_bytes()?;
        let Some(invocation) = invocation else { return Ok(()) };
        start.check_together(least_argument_bytes(invocation), declared_bytes)
    };
    if let Err(diag) = check() {
        findings.push(diag);
    }
}

/// Warns of a server whose variables or arguments no start can hand over.
pub(super) fn check_server(
    at: At<'_>,
    transport: &Transport,
    place: Place<'_>,
    findings: &mut Findings,
) {
    let Transport::Stdio { command, args, env, cwd } = transport else { return };
    let Some(start) = Start::new(at, env, place, "it cannot be started") else { return };
    let check = || {
        let declared_bytes = start.declared_bytes()?;
        let mut bytes =
            program_bytes(start.text_bytes("\"command\"", start.key("command"), command)?);
        for (index, arg) in args.iter().enumerate() {
            let at = start.key("args");
            let at = at.item(index).unwrap_or(at);
            let n_bytes = start.text_bytes(&format!("argument {}", index + 1), at, arg)?;
            bytes += argument_bytes(n_bytes);
        }
        if let Some(cwd) = cwd {
            start.text_bytes("\"cwd\"", start.key("cwd"), cwd)?;
        }
        start.check_together(bytes, declared_bytes)
    };
    if let Err(diag) = check() {
        findings.push(diag);
    }
}

/// What is known of the start of a tool or server before it.
struct Start<'a> {
    /// The tool or the server.
    at: At<'a>,
    declared: &'a Declared,
    /// What references are expanded from.
    host: Environment,
    /// What every program of a plugin sees, and the value of `PLUGIN_ROOT`.
    minimal: Environment,
    max_bytes: u64,
    /// What becomes of a tool or server whose words are too long.
    reason: &'static str,
}

impl<'a> Start<'a> {
    /// `None` where nothing is looked at.
    fn new(
        at: At<'a>,
        declared: &'a Declared,
        place: Place<'_>,
        reason: &'static str,
    ) -> Option<Self> {
        let options = place.options;
        if options.depth != Depth::Full {
            return None;
        }
        let mut host = options.env.as_deref().cloned().unwrap_or_default();
        let root = place.root.map(|it| (PLUGIN_ROOT, it));
        let minimal = EnvPolicy::Minimal.build(&host, root);
        host.extend(root);
        let max_bytes = options.max_words_bytes.unwrap_or(MAX_VALUES_BYTES as u64);
        Some(Self { at, declared, host, minimal, max_bytes, reason })
    }

    /// The value of a key, or what has no such key.
    fn key(&self, key: &str) -> At<'a> {
        self.at.member(key).unwrap_or(self.at)
    }

    /// The length of a value now.
    fn value_bytes(&self, value: &Template) -> usize {
        match value.expand(&self.host) {
            Ok(value) => value.len(),
            Err(ValueError::TooLong) => MAX_ARGUMENT_BYTES + 1,
            Err(_) => value.min_bytes(),
        }
    }

    /// The length of a value that is an argument by itself.
    fn text_bytes(
        &self,
        label: &str,
        at: At<'_>,
        value: &Template,
    ) -> Result<usize, Box<Diagnostic>> {
        match self.value_bytes(value) {
            n_bytes if n_bytes <= MAX_ARGUMENT_BYTES => Ok(n_bytes),
            _ => {
                let what = format!("{label} would have more than {MAX_ARGUMENT_BYTES} bytes");
                Err(self.warning(at, what))
            }
        }
    }

    /// What the declared variables take.
    fn declared_bytes(&self) -> Result<u64, Box<Diagnostic>> {
        let object = self.key("env");
        let mut res = 0;
        for (name, value) in self.declared.iter() {
            let n_bytes = self.value_bytes(value);
            if variable_length(name, n_bytes) > MAX_ARGUMENT_BYTES {
                let what = format!(
                    "the variable {name} would have more than {MAX_ARGUMENT_BYTES} bytes with its name"
                );
                return Err(self.warning(object.member(name).unwrap_or(object), what));
            }
            res += variable_bytes(name.as_ref(), "".as_ref()) + n_bytes as u64;
            if res > self.max_bytes {
                let what = format!(
                    "up to {name}, the variables have {res} bytes with what stands around each, and at most {} can be \
                     handed over",
                    self.max_bytes
                );
                return Err(self.warning(object, what));
            }
        }
        Ok(res)
    }

    /// Compares what arguments and variables take together with what there is. `declared_bytes` are those of the declared
    /// variables.
    fn check_together(
        &self,
        argument_bytes: u64,
        declared_bytes: u64,
    ) -> Result<(), Box<Diagnostic>> {
        let is_declared =
            |name: &OsStr| name.to_str().is_some_and(|it| self.declared.get(it).is_some());
        let others = self.minimal.iter().filter(|it| !is_declared(it.0));
        let other_bytes: u64 = others.map(|(name, value)| variable_bytes(name, value)).sum();
        let (variable_bytes, max_bytes) = (declared_bytes + other_bytes, self.max_bytes);
        if argument_bytes + variable_bytes <= max_bytes {
            return Ok(());
        }
        let found = WordsTooLong::Together { argument_bytes, variable_bytes, max_bytes };
        let keys = if found.blames_variables() { ["env", "args"] } else { ["args", "env"] };
        let is_present = |it: &&str| self.at.member(it).is_some_and(|it| !it.value().is_null());
        let key = keys.iter().find(|it| is_present(it)).unwrap_or(&"command");
        Err(self.warning(self.key(key), found.to_string()))
    }

    fn warning(&self, at: At<'_>, what: String) -> Box<Diagnostic> {
        let diag = at.warning(BAD_VALUE, what).with_reason(self.reason);
        Box::new(diag.with_help("hand large values over in a file of the plugin"))
    }
}

/// The fewest bytes that the program's name and its arguments have in any call.
fn least_argument_bytes(invocation: &Invocation) -> u64 {
    match invocation {
        Invocation::Argv { command, args } => {
            let args = args.iter().map(|it| argument_bytes(it.len()));
            program_bytes(command.len()) + args.sum::<u64>()
        }
        Invocation::Template(template) => {
            let words = template.as_written();
            // A word with a placeholder may be left out.
            let args = words.iter().skip(1).filter(|it| !it.contains("{{"));
            let args = args.map(|it| argument_bytes(it.len()));
            program_bytes(words[0].len()) + args.sum::<u64>()
        }
        Invocation::Rpc { path, .. } => program_bytes(path.as_os_str().len()),
    }
}

/// What the name of the program takes. Its path, which is not shorter, stands beside the arguments without a pointer.
fn program_bytes(n_bytes: usize) -> u64 {
    argument_bytes(n_bytes) + n_bytes as u64 + 1
}
