//! One entry of `tools` in which nothing is wrong.

use std::{
    borrow::Cow,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use flyto_diagnostics::{MAX_ENTRIES, Source, json::Scanner};
use flyto_execenv::{Declared, Limits};
use flyto_tools::{AuditOperation, Metadata, PermissionClass};
use smallvec::SmallVec;

use super::{
    super::{
        category::Category,
        def::{DEFAULT_TIMEOUT, Invocation, MAX_GRACE, MAX_TIMEOUT, ToolDef, any_object},
        dialect::Dialect,
        env::{MAX_NAME_BYTES, is_reserved, name_fault},
        field::{is_system_text, start_dir},
        lazy::Schema,
        metadata::CLASSES,
        place::Place,
        program,
    },
    schema::Shape,
    value::{set, text},
};
use crate::{names::NameKind, template::Template};

/// The most variables of one tool, each of which is compared with those before it.
const MOST_VARIABLES: usize = 32;

/// What an entry says, before the keys are looked at together.
#[derive(Default)]
struct Entry<'s> {
    name: Option<&'s str>,
    description: Option<String>,
    input_schema: Option<Shape<'s>>,
    output_schema: Option<Shape<'s>>,
    parameters: Option<Shape<'s>>,
    command: Option<Cow<'s, str>>,
    args: Option<Vec<OsString>>,
    env: Option<Declared>,
    /// Under both spellings of each of the two keys.
    work_dirs: [Option<String>; 2],
    timeouts: [Option<Duration>; 2],
    grace: Option<Duration>,
    stream: Option<bool>,
    ready: Option<bool>,
    /// Without the class and the two keys below.
    metadata: Metadata,
    permission_class: Option<PermissionClass>,
    requires_checkpoint: Option<bool>,
    requires_reverse_thinking: Option<bool>,
    category: Option<Category>,
}

/// Reads the tool that comes next. `n_declared` counts its variables and references, or more.
pub(super) fn read(
    scanner: &mut Scanner<'_>,
    source: &Source,
    place: Place<'_>,
    n_declared: &mut usize,
) -> Option<ToolDef> {
    let mut entry = Entry::default();
    scanner.object(|scanner, key| entry.member(scanner, key, n_declared))?;
    entry.into_tool(source, place)
}

impl<'s> Entry<'s> {
    fn member(
        &mut self,
        scanner: &mut Scanner<'s>,
        key: &str,
        n_declared: &mut usize,
    ) -> Option<()> {
        let metadata = &mut self.metadata;
        match key {
            "name" => set(&mut self.name, scanner.plain_string()),
            "description" => set(&mut self.description, text(scanner)),
            "input_schema" => set(&mut self.input_schema, Shape::read(scanner)),
            "output_schema" => set(&mut self.output_schema, Shape::read(scanner)),
            "parameters" => set(&mut self.parameters, Shape::read(scanner)),
            "command" => set(&mut self.command, scanner.string()),
            "args" => set(&mut self.args, args(scanner)),
            "env" => set(&mut self.env, env(scanner, n_declared)),
            "work_dir" => set(&mut self.work_dirs[0], text(scanner)),
            "working_dir" => set(&mut self.work_dirs[1], text(scanner)),
            "timeout_seconds" => set(&mut self.timeouts[0], seconds(scanner, 1, MAX_TIMEOUT)),
            "timeout_secs" => set(&mut self.timeouts[1], seconds(scanner, 1, MAX_TIMEOUT)),
            "grace_seconds" => set(&mut self.grace, seconds(scanner, 0, MAX_GRACE)),
            "stream" => set(&mut self.stream, scanner.boolean()),
            "ready" => set(&mut self.ready, scanner.boolean()),
            "title" => set(&mut metadata.title, text(scanner)),
            "search_hint" => set(&mut metadata.search_hint, text(scanner)),
            "permission_class" => set(&mut self.permission_class, permission_class(scanner)),
            "audit_operation" => {
                set(&mut metadata.audit_operation, text(scanner).map(AuditOperation::new))
            }
            "concurrency_safe" => set(&mut metadata.concurrency_safe, scanner.boolean()),
            "read_only" => set(&mut metadata.read_only, scanner.boolean()),
            "destructive" => set(&mut metadata.destructive, scanner.boolean()),
            "idempotent" => set(&mut metadata.idempotent, scanner.boolean()),
            "open_world" => set(&mut metadata.open_world, scanner.boolean()),
            "requires_checkpoint" => set(&mut self.requires_checkpoint, scanner.boolean()),
            "requires_reverse_thinking" => {
                set(&mut self.requires_reverse_thinking, scanner.boolean())
            }
            "version" => set(&mut metadata.version, text(scanner)),
            "category" => set(&mut self.category, scanner.plain_string().and_then(Category::named)),
            _ => None,
        }
    }

    /// Looks at the keys together.
    fn into_tool(mut self, source: &Source, place: Place<'_>) -> Option<ToolDef> {
        let is_template = self.parameters.is_some();
        let (kind, own) = match is_template {
            true => (NameKind::OtherTool, 1),
            false => (NameKind::ArgvTool, 0),
        };
        let name = self.name?;
        kind.check(name).ok()?;
        // Each form has one of two spellings.
        if self.work_dirs[1 - own].is_some() || self.timeouts[1 - own].is_some() {
            return None;
        }
        let work_dir = self.work_dirs[own].take();
        if let Some(dir) = &work_dir
            && !is_work_dir(dir, is_template, place)
        {
            return None;
        }
        let command = self.command.take().filter(|it| is_system_text(it))?;
        let parameters = self.parameters.take();
        let invocation = match &parameters {
            Some(_) if self.input_schema.is_some() || self.args.is_some() => return None,
            Some(_) if self.ready == Some(true) => return None,
            Some(parameters) => template(&command, parameters, place)?,
            None => {
                let dir = start_dir(place.dir, work_dir.as_deref().map(Path::new));
                is_program(&command, &dir, place).then_some(())?;
                let args = self.args.take().unwrap_or_default();
                Invocation::Argv { command: command.into_owned().into(), args }
            }
        };
        let schema = |shape: Shape<'_>| Schema::part(source, shape.span);
        let input_schema = parameters.or(self.input_schema.take()).map(schema);
        Some(ToolDef {
            name: name.to_owned(),
            description: self.description.take()?,
            input_schema: input_schema.unwrap_or_else(|| any_object().clone()),
            output_schema: self.output_schema.take().map(schema),
            blocks: false,
            invocation,
            env: self.env.take().unwrap_or_default(),
            work_dir: work_dir.map(PathBuf::from),
            timeout: self.timeouts[own].unwrap_or(DEFAULT_TIMEOUT),
            grace: self.grace.unwrap_or_default(),
            limits: Limits::new(),
            network: None,
            sandbox: None,
            sha256: None,
            stream: self.stream.unwrap_or_default(),
            ready: self.ready.unwrap_or_default(),
            undo: None,
            metadata: self.metadata(),
        })
    }

    /// What the tool says about itself.
    fn metadata(self) -> Metadata {
        let mut res = self.metadata;
        let says_class = self.permission_class.is_some();
        res.permission_class = self.permission_class.unwrap_or(PermissionClass::BASH);
        res.requires_checkpoint = self.requires_checkpoint.unwrap_or_default();
        res.requires_reverse_thinking = self.requires_reverse_thinking.unwrap_or_default();
        if let Some(category) = self.category {
            category.apply(&mut res, |key| match key {
                "permission_class" => says_class,
                _ => self.requires_checkpoint.is_some(),
            });
        }
        res
    }
}

/// Arguments; one with two braces may be a mistake.
fn args(scanner: &mut Scanner<'_>) -> Option<Vec<OsString>> {
    let mut res = Vec::new();
    scanner.array(|scanner| {
        let arg = scanner.string()?;
        if !is_system_text(&arg) || arg.contains("{{") || res.len() == MAX_ENTRIES {
            return None;
        }
        res.push(arg.into_owned().into());
        Some(())
    })?;
    Some(res)
}

/// Variables with short names and values, which fit into a start.
fn env(scanner: &mut Scanner<'_>, n_declared: &mut usize) -> Option<Declared> {
    let mut names = SmallVec::<[&str; 8]>::new();
    let mut res = SmallVec::<[_; 4]>::new();
    scanner.object(|scanner, name| {
        let is_fit =
            name.len() <= MAX_NAME_BYTES && !is_reserved(name) && name_fault(name).is_none();
        if !is_fit || names.len() == MOST_VARIABLES || names.contains(&name) {
            return None;
        }
        names.push(name);
        let value = scanner.string()?;
        if value.len() > MAX_NAME_BYTES || !is_system_text(&value) {
            return None;
        }
        // Not every dollar begins a reference.
        *n_declared += 1 + value.bytes().filter(|it| *it == b'$').count();
        res.push((name, Dialect::Own.parse(&value).ok()?));
        Some(())
    })?;
    Some(res.into_iter().collect())
}

/// Whole seconds, `least` or more.
fn seconds(scanner: &mut Scanner<'_>, least: u64, most: Duration) -> Option<Duration> {
    let seconds = scanner.number()?.parse().ok()?;
    (least..=most.as_secs()).contains(&seconds).then(|| Duration::from_secs(seconds))
}

fn permission_class(scanner: &mut Scanner<'_>) -> Option<PermissionClass> {
    let name = scanner.plain_string()?;
    CLASSES.into_iter().find(|it| it.as_str() == name)
}

/// Whether a directory is there, as far as that is known here.
fn is_work_dir(dir: &str, is_template: bool, place: Place<'_>) -> bool {
    let path = Path::new(dir);
    if !is_system_text(dir) || dir.starts_with('~') {
        return false;
    }
    if is_template && !path.is_absolute() {
        return true;
    }
    let dir = start_dir(place.dir, Some(path));
    place.seen.metadata(&dir).is_some_and(|it| it.is_dir())
}

/// Whether a command is one word, and what it names can be run as far as that is looked at.
fn is_program(command: &str, start_dir: &Path, place: Place<'_>) -> bool {
    if command.is_empty() || command.contains(char::is_whitespace) || command.contains("{{") {
        return false;
    }
    match command.contains('/') {
        true => program::is_runnable(command, start_dir, place),
        false => Path::new(command).extension().is_none(),
    }
}

/// A command in which every placeholder is a parameter, and every parameter is used.
fn template(command: &str, parameters: &Shape<'_>, place: Place<'_>) -> Option<Invocation> {
    if parameters.requires_defaults {
        return None;
    }
    let declared = &parameters.properties;
    let reading = Template::read(command, &|name| declared.contains(&name)).ok()?;
    let template = &reading.template;
    let is_odd = reading.placeholders().any(|it| it.2 || !declared.contains(&it.0));
    let is_used = |name: &&str| template.parameters().iter().any(|it| it == name);
    if is_odd || !declared.iter().all(is_used) {
        return None;
    }
    // Any other path leads into the directory of a session.
    if let Some(program) = template.program().filter(|it| it.starts_with('/'))
        && !program::is_runnable(program, Path::new(""), place)
    {
        return None;
    }
    Some(Invocation::Template(reading.template))
}
