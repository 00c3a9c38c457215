//! A tool as a folder of the Agent Skills format (agentskills.io), and back.
//!
//! ```text
//! count-lines/SKILL.md                      name and description, and how to call the script
//! count-lines/scripts/count-lines.sh        what bash runs
//! count-lines/references/input_schema.json  JSON Schema of the input
//! count-lines/references/tool.json          the whole definition with its hash
//! ```
//!
//! Reading such a folder opens four files by name. No link in it is followed, a pipe or a device is no file, each file has a
//! bound, and nothing is run. What else is there is not opened, and told by its name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{ImportError, export, front_matter, import};
use crate::{
    Body, MAX_DEFINITION_BYTES, Proposal, ProposalSource, ToolDefinition, Version,
    definition::{pretty, sorted},
    run::render,
    store::{Disk, Files},
};

/// Where the schema of the input lies in a folder.
const SCHEMA_PATH: &str = "references/input_schema.json";

/// The longest `SKILL.md`, in bytes.
const MAX_SKILL_BYTES: u64 = 256 * 1024;
/// The longest other file: a definition with what is kept beside it.
const MAX_FILE_BYTES: u64 = 2 * MAX_DEFINITION_BYTES as u64;
/// The most names of other files that are told.
const MAX_TOLD_NAMES: usize = 20;
/// The most of these names that are kept while the others are counted.
const MAX_NAMES: usize = 1000;
/// The longest description that the format allows, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Why a folder is not written, or is no tool.
///
/// ```
/// use flyto_evolve::{SkillError, import_skill};
///
/// # let temp = tempfile::tempdir()?;
/// let dir = temp.path().join("now");
/// std::fs::create_dir(&dir)?;
/// std::fs::write(dir.join("SKILL.md"), "---\nname: &x now\ndescription: d\n---\n")?;
/// let Err(SkillError::NotASkill { why, .. }) = import_skill(&dir, "ada") else { panic!("it is read") };
/// assert_eq!(why, "line 2: anchors, aliases and tags (&) are not read");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The name of the tool has no form in `a-z`, `0-9` and `-`.
    #[error("the tool {name:?} has no name as a skill: a skill is named with a-z, 0-9 and -")]
    NoSkillName {
        /// The name of the tool.
        name: String,
    },
    /// There is a file or a folder of that name already. Nothing was changed in it.
    #[error("{} is there already", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused something else.
    #[error("failed to {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder is no skill, or one of which no tool can be made.
    #[error("{}: {why}", path.display())]
    NotASkill {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, in one sentence.
        why: String,
    },
    /// The definition in it is not the one that was exported.
    #[error(transparent)]
    Definition(#[from] ImportError),
}

/// Writes a version as an Agent Skills folder below `into`, and gives the folder. It is named as the tool, in lower case and
/// with `-` for other characters. An agent without Flyto reads how to run the script; [`import_skill`] makes the same
/// definition of it, with the same hash.
///
/// A composite has no script, since its steps are calls of other tools: its folder is for [`import_skill`] alone.
///
/// ```
/// use flyto_evolve::{Approval, Change, NewVersion, Store, ToolDefinition, export_skill, import_skill};
///
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// let def = ToolDefinition::script("disk_use", "How full the disk is.", "df -h\n");
/// let approval = Approval::now("ada", def.hash());
/// let version = store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
///
/// let dir = export_skill(&version, temp.path())?;
/// assert!(dir.ends_with("disk-use"));
/// let script = std::fs::read_to_string(dir.join("scripts/disk-use.sh"))?;
/// assert_eq!(script, "df -h\n");
/// assert!(import_skill(&dir, "session-7")?.text.contains("disk_use"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`SkillError::NoSkillName`], [`SkillError::Exists`] and [`SkillError::Io`]. What was written of a folder is removed then.
pub fn export_skill(version: &Version, into: impl AsRef<Path>) -> Result<PathBuf, SkillError> {
    let def = &version.definition;
    let name =
        skill_name(&def.name).ok_or_else(|| SkillError::NoSkillName { name: def.name.clone() })?;
    let dir = into.as_ref().join(&name);
    // Fails where it exists, also as a link.
    fs::create_dir(&dir).map_err(|err| match err.kind() {
        io::ErrorKind::AlreadyExists => SkillError::Exists { path: dir.clone() },
        _ => SkillError::Io { doing: "make the folder", path: dir.clone(), source: err },
    })?;
    let written = write(version, &name, &dir);
    if written.is_err() {
        drop(fs::remove_dir_all(&dir));
    }
    written.map(|()| dir)
}

/// Writes the files of a skill into a directory that is there and empty.
///
/// # Errors
///
/// [`SkillError`] with the file that cannot be written.
fn write(version: &Version, name: &str, dir: &Path) -> Result<(), SkillError> {
    let disk = Disk::new(dir);
    let told = |path: &str, res: io::Result<()>| {
        let path = dir.join(path);
        res.map_err(|source| SkillError::Io { doing: "write", path, source })
    };
    let schema = pretty(&sorted(&version.definition.input_schema));
    told("references", disk.make_dir("references"))?;
    told(SCHEMA_PATH, disk.write_new(SCHEMA_PATH, schema.as_bytes()))?;
    let path = "references/tool.json";
    told(path, disk.write_new(path, export(version).as_bytes()))?;
    if let Some(script) = script_of(&version.definition) {
        let path = format!("scripts/{name}.sh");
        told("scripts", disk.make_dir("scripts"))?;
        told(&path, disk.write_new(&path, script.as_bytes()))?;
    }
    let skill = skill_text(version, name);
    told("SKILL.md", disk.write_new("SKILL.md", skill.as_bytes()))?;
    ["", "references"].into_iter().try_for_each(|it| told(it, disk.sync_dir(it)))
}

/// What bash runs; `None` for a composite.
fn script_of(def: &ToolDefinition) -> Option<String> {
    match &def.body {
        Body::Script(text) => Some(text.clone()),
        Body::Command(text) => {
            let rendered = render(text, |name| def.is_parameter(name)).ok()?;
            Some(format!("{}\n", rendered.text))
        }
        Body::Composite(_) => None,
    }
}

/// The description as a head has it.
fn short_description(def: &ToolDefinition) -> String {
    def.description.chars().take(MAX_DESCRIPTION_CHARS).collect()
}

/// The text of `SKILL.md`, whose description has at most [`MAX_DESCRIPTION_CHARS`] characters.
fn skill_text(version: &Version, name: &str) -> String {
    let def = &version.definition;
    let members = [("name", name.to_owned()), ("description", short_description(def))];
    let metadata = [
        ("flyto-name", def.name.clone()),
        ("flyto-version", version.number.to_string()),
        ("flyto-sha256", version.hash().to_string()),
    ];
    let mut res = front_matter::to_text(&members, &metadata);
    res.push_str(&body_text(def, name));
    res
}

/// What stands below the head.
fn body_text(def: &ToolDefinition, name: &str) -> String {
    let mut res = format!("\n# {name}\n\n{}\n\n", def.description);
    match script_of(def) {
        Some(_) => res.push_str(&format!(
            "Run `bash scripts/{name}.sh`. Each parameter of `references/input_schema.json` is an environment variable: \
             `TOOL_INPUT_` and its name in upper case, with `_` for `-`. The whole input is JSON on standard input.\n"
        )),
        None => res.push_str(
            "It calls other tools of Flyto in steps, and is no script: import the folder with Flyto.\n",
        ),
    }
    res
}

/// The proposal to have the tool of an Agent Skills folder here. It goes through all checks, and a person is asked.
///
/// A folder that [`export_skill`] wrote gives the very definition; where its script, its schema, its name or its description
/// was edited since, it is refused; another edit of `SKILL.md` is told as left out. Any other
/// folder needs `SKILL.md` and `scripts/NAME.sh` (or `scripts/run.sh`): that script with the description becomes the tool, and
/// `references/input_schema.json` its schema, where there is one. Other files of the folder are no part of the tool: they are not
/// there where it runs. [`Proposal::left_out`] names them, and so does what a person is shown of where it comes from.
///
/// | of the head | is read |
/// | --- | --- |
/// | `name` | the name of the tool, which is that of the folder |
/// | `description` | plain, in quotes, or as a block (`|`, `>`) |
/// | any other key | passed over, whatever its value is |
/// | an anchor, an alias or a tag as one of the two values | refused: nothing is ever expanded |
///
/// The head has at most 16 KiB and 64 keys, and its work is that of reading the lines once.
///
/// # Errors
///
/// [`SkillError::NotASkill`] for a file that is missing, a link, no regular file, too long (256 KiB for `SKILL.md`, 2 MiB
/// for others) or no text, for a head that cannot be read, and for a name that is not that of the folder;
/// [`SkillError::Definition`] where `references/tool.json` was changed.
pub fn import_skill(dir: impl AsRef<Path>, by: &str) -> Result<Proposal, SkillError> {
    let dir = dir.as_ref();
    let not_a_skill = |path: &str, why: String| {
        let path = if path.is_empty() { dir.to_owned() } else { dir.join(path) };
        SkillError::NotASkill { path, why }
    };
    let disk = Disk::new(dir);
    let read = |path: &str, max_bytes: u64| -> Result<Option<String>, SkillError> {
        let bytes = disk.read(path, max_bytes).map_err(|err| not_a_skill(path, err.to_string()))?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| not_a_skill(path, "it is not UTF-8".to_owned()))
    };
    let missing = |path: &str| not_a_skill(path, "it is missing".to_owned());
    let skill = read("SKILL.md", MAX_SKILL_BYTES)?.ok_or_else(|| missing("SKILL.md"))?;
    let head = front_matter::parse(&skill).map_err(|why| not_a_skill("SKILL.md", why))?;
    let name = head.name;
    if skill_name(&name).as_deref() != Some(&*name) {
        let why =
            format!("the name {name:?} is none of a skill: a-z, 0-9 and single - between them");
        return Err(not_a_skill("SKILL.md", why));
    }
    let folder = dir.canonicalize().ok();
    let folder = folder.as_deref().and_then(Path::file_name).and_then(|it| it.to_str());
    if folder != Some(&*name) {
        let why = format!("its name is {name:?}, and that of its folder is another one");
        return Err(not_a_skill("SKILL.md", why));
    }
    let place = dir.display().to_string();
    let mut script_path = format!("scripts/{name}.sh");
    let mut script = read(&script_path, MAX_FILE_BYTES)?;
    if let Some(text) = read("references/tool.json", MAX_FILE_BYTES)? {
        let taken = ["SKILL.md", &script_path, SCHEMA_PATH, "references/tool.json"];
        let mut left_out = left_out(dir, &taken);
        let mut proposal = import(&text, &place, by)?;
        let parsed = crate::parse(&flyto_diagnostics::Source::new(&place, proposal.text.as_str()));
        if let Some(def) = &parsed.definition {
            let schema = read(SCHEMA_PATH, MAX_FILE_BYTES)?;
            let schema = schema.map(|it| serde_json::from_str::<Value>(&it).ok());
            let edited = if script != script_of(def) {
                Some(&*script_path)
            } else if schema.is_some_and(|it| it.as_ref() != Some(&def.input_schema)) {
                Some(SCHEMA_PATH)
            } else if skill_name(&def.name).as_ref() != Some(&name)
                || short_description(def) != head.description
            {
                Some("SKILL.md")
            } else {
                None
            };
            if let Some(path) = edited {
                let why =
                    "it is not what references/tool.json says: propose what was edited as an update"
                        .to_owned();
                return Err(not_a_skill(path, why));
            }
            if !skill.ends_with(&format!("\n---\n{}", body_text(def, &name))) {
                left_out.push("the text of SKILL.md, which was edited".to_owned());
            }
        }
        let from = without(place, &left_out);
        proposal.left_out = left_out;
        return Ok(proposal.source(ProposalSource::Imported { from }));
    }
    if script.is_none() {
        script_path = "scripts/run.sh".to_owned();
        script = read(&script_path, MAX_FILE_BYTES)?;
    }
    let script = script.ok_or_else(|| {
        let why = "it is missing, and so is scripts/run.sh".to_owned();
        not_a_skill(&format!("scripts/{name}.sh"), why)
    })?;
    let mut def = ToolDefinition::script(name, head.description, script);
    if let Some(text) = read(SCHEMA_PATH, MAX_FILE_BYTES)? {
        let schema: Result<Value, _> = serde_json::from_str(&text);
        let schema = schema.map_err(|err| not_a_skill(SCHEMA_PATH, err.to_string()))?;
        def = def.with_input_schema(schema);
    }
    let left_out = left_out(dir, &["SKILL.md", &script_path, SCHEMA_PATH]);
    let from = without(place.clone(), &left_out);
    let mut res = Proposal::of(&def, by).source(ProposalSource::Imported { from });
    res.left_out = left_out;
    Ok(res.read_from(format!("the definition of {place}")))
}

/// The files and directories of a folder that are not taken: at most [`MAX_TOLD_NAMES`], and how many more there are. A
/// directory that no skill of this crate has is named as a whole.
fn left_out(dir: &Path, taken: &[&str]) -> Vec<String> {
    let (mut res, mut n_found) = (Vec::new(), 0);
    for (at, has_parts) in [("", true), ("references/", false), ("scripts/", false)] {
        // That of a part which is not there has no names.
        let Ok(entries) = fs::read_dir(dir.join(at)) else { continue };
        for entry in entries.flatten() {
            let mut path = format!("{at}{}", entry.file_name().to_string_lossy());
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                path.push('/');
            }
            let is_listed = has_parts && matches!(&*path, "references/" | "scripts/");
            if !is_listed && !taken.contains(&&*path) {
                n_found += 1;
                if n_found <= MAX_NAMES {
                    res.push(path);
                }
            }
        }
    }
    res.sort_unstable();
    if let Some(n_more @ 1..) = n_found.checked_sub(MAX_TOLD_NAMES) {
        res.truncate(MAX_TOLD_NAMES);
        res.push(format!("{n_more} more"));
    }
    res
}

/// Where a tool comes from, with what was left there.
fn without(place: String, left_out: &[String]) -> String {
    match left_out {
        [] => place,
        names => format!("{place}, without {}", names.join(", ")),
    }
}

/// The name as the format has it: lower case, `-` for runs of other characters; `None` where nothing is left, or more than 64.
fn skill_name(name: &str) -> Option<String> {
    let words = name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let res = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    (name.is_ascii() && !res.is_empty() && res.len() <= 64).then_some(res)
}
