//! How far programs are cut off, by their class: the section `sandbox` of a configuration, such as
//! `"sandbox": "strict"`.
//!
//! A [`SandboxProfile`] extends one of the three that are always there (`none`, `workspace`,
//! `strict`) by paths, a network and bounds. [`Sandbox`] says which profiles each [`Class`] runs
//! under. What cannot be read in this section is an error and never left out: a protection that was
//! misspelt would not hold.
//!
//! This file reads which profile holds. What sandbox strict allows and denies is decided by
//! [`Profile::isolation`] in flyto-execenv, and [`Config::policies`](super::Config::policies) applies it.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Component, Path, PathBuf},
};

use flyto_diagnostics::{
    At, Diagnostic, Findings, ObjectReader, Reported, closest, codes::WRONG_TYPE, quoted,
};
use flyto_execenv::{
    Class, Filesystem, Isolation, Limits, Network, Profile, ProfilePlaces, project_settings,
};
use flyto_plugin::{ambient_home_of, expand_home, read_limits, read_network};

use crate::{
    codes,
    links::{self, real},
    places::Places,
};

/// Which profiles each class of program runs under.
///
/// The default has no profile for any class: programs run as the user does.
///
/// ```
/// use flyto_execenv::Class;
/// use flyto_host::Sandbox;
///
/// let mut sandbox = Sandbox::default();
/// assert!(sandbox.profiles_of(&Class::PLUGIN_TOOL).is_empty());
/// assert_eq!(sandbox.names(), ["none", "workspace", "strict"]);
///
/// let strict = sandbox.profile("strict").expect("it is always there");
/// sandbox.use_for_all(&strict);
/// assert_eq!(sandbox.profiles_of(&Class::PLUGIN_TOOL)[0].name, "strict");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sandbox {
    /// The profiles of a class. All of one class hold together: those of a project that is not trusted
    /// stand beside the user's.
    pub classes: BTreeMap<Class, Vec<SandboxProfile>>,
    /// Those of every other class, one of the host's own included.
    ///
    /// Default: none.
    pub other: Vec<SandboxProfile>,
    /// Profiles of one's own, by name.
    pub profiles: BTreeMap<String, SandboxProfile>,
}

/// A profile, with what is different from the one that it extends.
///
/// Lists are empty and `network` is `None` where nothing is different.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxProfile {
    /// The name: that of the one that it extends, where nothing is different.
    pub name: String,
    /// The profile that it extends.
    pub extends: Profile,
    /// Further paths that may be read and executed. One with a link on the way grants nothing.
    pub read: Vec<PathBuf>,
    /// Further paths that may be read and written. One with a link on the way grants nothing.
    pub write: Vec<PathBuf>,
    /// Further paths that are denied, whatever is granted, and what they lead to.
    pub deny: Vec<PathBuf>,
    /// The network in place of that of the profile that it extends.
    pub network: Option<Network>,
    /// Upper bounds.
    ///
    /// Each `None` leaves a bound to the backend and to other profiles.
    pub limits: Limits,
}

impl SandboxProfile {
    pub(super) fn plain(profile: Profile) -> Self {
        Self {
            name: profile.name().to_owned(),
            extends: profile,
            read: Vec::new(),
            write: Vec::new(),
            deny: Vec::new(),
            network: None,
            limits: Limits::new(),
        }
    }

    /// What it asks for at these places.
    pub(super) fn isolation(&self, places: &ProfilePlaces) -> Isolation {
        let Self { name: _, extends, read: more_read, write: more_write, deny, network, limits: _ } =
            self;
        let mut res = extends.isolation(places);
        if let Filesystem::Grants { read, write } = &mut res.filesystem {
            *read = read.iter().chain(more_read).cloned().collect();
            *write = write.iter().chain(more_write).cloned().collect();
            // What is granted by its own name is not kept.
            let settings = more_write.iter().flat_map(|it| project_settings(it));
            let kept = res.read_only.iter().cloned().chain(settings);
            let by_name: HashSet<&PathBuf> = more_write.iter().collect();
            res.read_only = kept.filter(|it| !by_name.contains(it)).collect();
        }
        // A path and what it leads to, if it is a link.
        let denied = deny.iter().flat_map(|it| [it.clone(), real(it)]);
        let mut seen = HashSet::new();
        let denied = res.denied.iter().cloned().chain(denied);
        res.denied = denied.filter(|it| seen.insert(it.clone())).collect();
        if let Some(network) = network {
            res.network.clone_from(network);
        }
        res
    }
}

/// The classes, as a configuration names them.
pub(crate) const CLASSES: [(&str, Class); 5] = [
    ("plugin_tool", Class::PLUGIN_TOOL),
    ("plugin_hook", Class::PLUGIN_HOOK),
    ("mcp_server", Class::MCP_SERVER),
    ("user_hook", Class::USER_HOOK),
    ("evolve", Class::EVOLVE),
];

/// The keys of a profile.
pub(super) const PROFILE_KEYS: [&str; 6] =
    ["extends", "read", "write", "deny", "network", "limits"];

impl Sandbox {
    /// The profile of this name: one of the configuration's own, or one that is always there.
    ///
    /// `None` where there is no profile of this name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<SandboxProfile> {
        let own = self.profiles.get(name).cloned();
        own.or_else(|| Profile::from_name(name).map(SandboxProfile::plain))
    }

    /// The names of all profiles: those that are always there, then the configuration's own.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let all = Profile::ALL.iter().map(|it| it.name());
        all.chain(self.profiles.keys().map(String::as_str)).collect()
    }

    /// Runs programs of every class under this profile and no other.
    ///
    /// What classes had before is replaced.
    pub fn use_for_all(&mut self, profile: &SandboxProfile) {
        self.classes.clear();
        self.other = vec![profile.clone()];
    }

    /// The profiles of a class.
    ///
    /// Those of [`other`](Self::other) where the class has none of its own.
    #[must_use]
    pub fn profiles_of(&self, class: &Class) -> &[SandboxProfile] {
        self.classes.get(class).unwrap_or(&self.other)
    }

    /// All profiles in use, class by class.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &SandboxProfile> {
        self.classes.values().flatten().chain(&self.other)
    }

    /// Adds the profiles of an untrusted project beside those that hold.
    pub(super) fn narrow(&mut self, other: &Self) {
        let both = |own: &[SandboxProfile], more: &[SandboxProfile]| -> Vec<SandboxProfile> {
            let more = more.iter().filter(|it| !own.contains(it));
            own.iter().chain(more).cloned().collect()
        };
        let classes = self.classes.keys().chain(other.classes.keys());
        let classes = classes
            .map(|it| (it.clone(), both(self.profiles_of(it), other.profiles_of(it))))
            .collect();
        self.other = both(&self.other, &other.other);
        self.classes = classes;
    }

    /// Runs programs of every class under this profile at least.
    pub(super) fn narrow_to(&mut self, profile: Profile) {
        let mut least = Self::default();
        least.use_for_all(&SandboxProfile::plain(profile));
        self.narrow(&least);
    }

    /// Reads the value of `sandbox`.
    pub(super) fn read(
        at: At<'_>,
        places: &Places,
        findings: &mut Findings,
    ) -> Result<Self, Reported> {
        let mut res = Self::default();
        if let Some(name) = at.value().as_str() {
            let profile = res.named(at, name, findings)?;
            res.use_for_all(&profile);
            return Ok(res);
        }
        if at.value().as_object().is_none() {
            let what = format!(
                "\"sandbox\" must be the name of a profile or an object, found {}",
                at.value().describe()
            );
            let diag = at.error(WRONG_TYPE, what);
            return Err(findings.push(diag.with_help("write `\"workspace\"`, for example")));
        }
        let mut reader = ObjectReader::new(at, findings)?;
        let mut failed = None;
        if let Some(profiles) = reader.optional_object("profiles")? {
            for (name, at) in profiles.members() {
                match read_profile(at, name, places, reader.findings()) {
                    Ok(profile) => drop(res.profiles.insert(name.to_owned(), profile)),
                    Err(reported) => failed = Some(reported),
                }
            }
        }
        if let Some(reported) = failed {
            // A class that names one of them would be said to name nothing.
            return Err(reported);
        }
        for (key, class) in CLASSES {
            let Some(name) = reader.optional_string(key)? else { continue };
            let at = reader.at(key);
            match res.named(at, name, reader.findings()) {
                Ok(profile) => drop(res.classes.insert(class, vec![profile])),
                Err(reported) => failed = Some(reported),
            }
        }
        for (other, key) in OTHER_NAMES {
            reader.suggest_for(other, key);
        }
        reader.refuse_unknown(NOT_READ)?;
        failed.map_or(Ok(res), Err)
    }

    /// # Errors
    ///
    /// There is no profile of this name; the finding names the nearest one.
    fn named(
        &self,
        at: At<'_>,
        name: &str,
        findings: &mut Findings,
    ) -> Result<SandboxProfile, Reported> {
        self.profile(name).ok_or_else(|| findings.push(unknown(at, name, &self.names())))
    }
}

/// What other programs call the classes.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("plugins", "plugin_tool"),
    ("tools", "plugin_tool"),
    ("exec_tools", "user_hook"),
    ("mcpServers", "mcp_server"),
    ("profile", "profiles"),
];

/// Why an unknown key is an error.
const NOT_READ: &str = "a protection that is not read would not hold";

fn unknown(at: At<'_>, name: &str, names: &[&str]) -> Diagnostic {
    let diag =
        at.error(codes::UNKNOWN_PROFILE, format!("there is no sandbox profile {}", quoted(name)));
    match closest(name, names.iter().copied()) {
        Some(near) => diag
            .with_help(format!("did you mean {}?", quoted(near)))
            .with_suggestion(at.span(), quoted(near)),
        None => diag.with_help(format!("there are {}", names.join(", "))),
    }
}

/// # Errors
///
/// A name that is always taken, a profile to extend that is not there, a path that is relative or
/// has `..`, keys without effect, unknown keys.
fn read_profile(
    at: At<'_>,
    name: &str,
    places: &Places,
    findings: &mut Findings,
) -> Result<SandboxProfile, Reported> {
    if Profile::from_name(name).is_some() {
        let what = format!("the profile {} has its name from another one", quoted(name));
        let diag = at.error(codes::BAD_PROFILE, what);
        return Err(
            findings.push(diag.with_help("give it a name of its own, and let it extend that"))
        );
    }
    let mut reader = ObjectReader::new(at, findings)?;
    let extends = match reader.optional_string("extends")? {
        None => Profile::Workspace,
        Some(base) => match Profile::from_name(base) {
            Some(profile) => profile,
            None => {
                let names: Vec<_> = Profile::ALL.iter().map(|it| it.name()).collect();
                let diag = unknown(reader.at("extends"), base, &names);
                return Err(reader.push(diag));
            }
        },
    };
    let read = granted(&mut reader, "read", places);
    let write = granted(&mut reader, "write", places);
    let deny = paths(&mut reader, "deny", places);
    let deny = deny.map(|it| it.into_iter().map(|(path, _)| path).collect());
    let network = read_network(&mut reader);
    let limits = read_limits(&mut reader, NOT_READ);
    reader.suggest_for("denied", "deny");
    reader.suggest_for("net", "network");
    for key in ["read", "write"] {
        if extends == Profile::None && reader.is_present(key) {
            let what = format!("{} says nothing in a profile that extends \"none\"", quoted(key));
            let diag = reader.at(key).error(codes::BAD_PROFILE, what);
            let diag = diag.with_reason("all that the user may reach is open there");
            return Err(reader.push(diag.with_help("let it extend \"strict\", or remove the key")));
        }
    }
    reader.refuse_unknown(NOT_READ)?;
    Ok(SandboxProfile {
        name: name.to_owned(),
        extends,
        read: read?,
        write: write?,
        deny: deny?,
        network: network?,
        limits: limits?,
    })
}

/// The paths of a list that may be granted. One with a link in it is left out, with a warning.
fn granted(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    places: &Places,
) -> Result<Vec<PathBuf>, Reported> {
    let paths = paths(reader, key, places)?;
    let grant = |(path, at)| grant_path(at, path, places, reader.findings());
    Ok(paths.into_iter().filter_map(grant).collect())
}

/// A path of a configuration as it may be granted; `None`, and a warning, where there is a link on the way.
pub(super) fn grant_path(
    at: At<'_>,
    path: PathBuf,
    places: &Places,
    findings: &mut Findings,
) -> Option<PathBuf> {
    let link = match links::granted_path(&path, places.home.as_deref()) {
        Ok(path) => return Some(path),
        Err(link) => link,
    };
    let diag = at.warning(codes::LINK, format!("{path:?} grants nothing: {link}"));
    let diag = diag.with_help(link.help());
    let real = link.real.as_deref().and_then(Path::to_str);
    findings.push(match real {
        Some(real) => diag.with_suggestion(at.span(), quoted(real)),
        None => diag,
    });
    None
}

/// The paths of a list, each with its place.
fn paths<'v>(
    reader: &mut ObjectReader<'v, '_>,
    key: &'static str,
    places: &Places,
) -> Result<Vec<(PathBuf, At<'v>)>, Reported> {
    let texts = reader.optional_string_array(key)?.unwrap_or_default();
    let mut res = Vec::with_capacity(texts.len());
    let mut failed = None;
    for (text, at) in texts.into_iter().zip(reader.at(key).items()) {
        let what = match expand_home(text, places.home.as_deref(), ambient_home_of) {
            Ok(path) if is_plain(&path) => {
                res.push((path, at));
                continue;
            }
            Ok(_) => format!("the path {} is relative, or has `..` in it", quoted(text)),
            Err(err) => err.to_string(),
        };
        let diag = at.error(codes::BAD_PROFILE, what);
        failed =
            Some(reader.push(diag.with_help("write the whole path, or one that begins with `~/`")));
    }
    failed.map_or(Ok(res), Err)
}

/// Absolute, without `..` and without a zero byte.
fn is_plain(path: &Path) -> bool {
    let climbs = path.components().any(|it| it == Component::ParentDir);
    path.is_absolute() && !climbs && !path.as_os_str().as_encoded_bytes().contains(&0)
}
