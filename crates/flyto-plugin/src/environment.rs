//! The variables that programs of plugins see.
//!
//! A program of a plugin starts with an empty environment, and every variable in it has one of
//! four origins: [`VariableOrigin`]. The order of precedence is in `Sources`. Nothing here reads
//! the environment of this process; a host passes its own in.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    ffi::OsString,
    fmt,
    path::Path,
};

use flyto_execenv::{Declared, EnvPolicy, Environment, ExpandError, MissingVariables};

/// The variable with the plugin's directory.
///
/// Absolute. In a template it is how a command names a file of its plugin:
/// `"$PLUGIN_ROOT/run.sh"`.
pub const PLUGIN_ROOT: &str = "PLUGIN_ROOT";

/// The variable with the directory in which the plugin may keep what outlives a call.
///
/// Absolute, and the plugin's alone by its name. Not set where
/// [`PluginContext::data_root`](crate::PluginContext::data_root) is `None`.
pub const PLUGIN_DATA: &str = "PLUGIN_DATA";

/// Whether a variable of the host that a manifest reads must be granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrictEnv {
    /// A manifest may read any variable that it names in a declared value.
    #[default]
    Off,
    /// It may read those that the operator granted, and those that every program of a plugin sees.
    On,
}

/// What the variables of one program are made of.
///
/// In this order, each over those before it: what [`EnvPolicy::Minimal`] passes on, [`PLUGIN_ROOT`]
/// and [`PLUGIN_DATA`], granted names, declared ones. Nothing else is there. Of the host's variables
/// a declared value reads those that it names; it also reads the plugin's own two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// The host's environment as a whole; programs see parts of it.
    pub(crate) host: &'a Environment,
    /// The value of [`PLUGIN_ROOT`]; a server that no plugin declares has none.
    pub(crate) root: Option<&'a Path>,
    /// The value of [`PLUGIN_DATA`]; without one there is no such variable.
    pub(crate) data: Option<&'a Path>,
    /// Names that the operator granted to this plugin.
    pub(crate) granted: &'a BTreeSet<String>,
    /// `env` of the tool; of a session, what its tools declare together.
    pub(crate) declared: &'a Declared,
    pub(crate) strict: StrictEnv,
}

/// A variable that a program sees, and why.
///
/// For a report about a tool. The value is left out, because it may be a secret of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Why it is there.
    pub origin: VariableOrigin,
    /// The variables that a declared value is made of, in order of their names.
    ///
    /// Empty for a variable that is not [declared](VariableOrigin::Declared). Each name stands
    /// once.
    pub reads: Vec<String>,
}

/// Why a program sees a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariableOrigin {
    /// Every program of a plugin sees it, with the host's value.
    Host,
    /// The host sets it for the plugin.
    Plugin,
    /// The operator granted it, and it has the host's value.
    Granted,
    /// The manifest declares it.
    Declared,
}

/// Why declared variables have no values. A call then fails before anything starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// Values that they need and do not get. The two share no name.
    Missing {
        /// Variables that the host does not have.
        unset: MissingVariables,
        /// Variables that the host has and the plugin was not granted.
        refused: MissingVariables,
    },
    /// A value, or all of them together, would be longer than the system takes.
    TooLong(ExpandError),
}

impl Unresolved {
    /// How many names a failure lists: a record of it stays small.
    const MAX_NAMES: usize = 100;

    /// The names that are missing, for [`Failure::Environment`](flyto_tools::Failure::Environment); of very many the
    /// first.
    pub(crate) fn names(&self) -> Vec<String> {
        let Self::Missing { unset, refused } = self else { return Vec::new() };
        let names = unset.missing.keys().chain(refused.missing.keys());
        names.take(Self::MAX_NAMES).cloned().collect()
    }

    /// Changes what the declared values are called.
    pub(crate) fn relabel(&mut self, label: impl Fn(&mut String)) {
        match self {
            Self::Missing { unset, refused } => {
                let users = unset.missing.values_mut().chain(refused.missing.values_mut());
                users.flatten().for_each(label);
            }
            Self::TooLong(
                ExpandError::ValueTooLong { name } | ExpandError::TooLongTogether { name },
            ) => label(name),
            Self::TooLong(_) => {}
        }
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unset, refused) = match self {
            Self::Missing { unset, refused } => (unset, refused),
            Self::TooLong(err) => return write!(f, "{err}"),
        };
        if !unset.is_empty() {
            write!(f, "{unset}")?;
        }
        if !unset.is_empty() && !refused.is_empty() {
            f.write_str("; ")?;
        }
        if !refused.is_empty() {
            let what = if refused.missing.len() == 1 { "variable" } else { "variables" };
            write!(f, "{what} not granted: {}", refused.listed())?;
        }
        Ok(())
    }
}

impl Error for Unresolved {}

impl Sources<'_> {
    /// The whole environment.
    ///
    /// Fails with every missing name at once, so that one repair is enough.
    pub(crate) fn build(&self) -> Result<Environment, Unresolved> {
        let declared = self.values()?;
        let mut res = EnvPolicy::Minimal.build(self.host, self.own());
        res.extend(self.granted().filter_map(|name| Some((name, self.host.get(name)?))));
        res.extend(declared);
        Ok(res)
    }

    /// The declared values by name, expanded.
    ///
    /// Fails like [`build`](Self::build).
    pub(crate) fn values(&self) -> Result<Vec<(OsString, OsString)>, Unresolved> {
        self.declared.expand(&self.readable()).map_err(|err| match err {
            ExpandError::Missing(missing) => self.unresolved(missing),
            err => Unresolved::TooLong(err),
        })
    }

    /// The variables in order of their names, whether or not every value can be made.
    ///
    /// A granted variable that the host does not have is left out, as it is in the program.
    pub(crate) fn variables(&self) -> Vec<Variable> {
        let mut res = BTreeMap::new();
        let minimal = EnvPolicy::MINIMAL_NAMES.into_iter().filter(|it| self.host.get(it).is_some());
        let granted = self.granted().filter(|it| self.host.get(it).is_some());
        let own: Vec<_> = self.own().map(|(name, _)| name).collect();
        let of_host = minimal
            .map(|name| (name, VariableOrigin::Host))
            .chain(own.into_iter().map(|name| (name, VariableOrigin::Plugin)))
            .chain(granted.map(|name| (name, VariableOrigin::Granted)));
        for (name, origin) in of_host {
            let reads = Vec::new();
            res.insert(name, Variable { name: name.to_owned(), origin, reads });
        }
        for (name, template) in self.declared.iter() {
            let reads: BTreeSet<_> = template.variables().collect();
            let reads = reads.into_iter().map(ToOwned::to_owned).collect();
            let origin = VariableOrigin::Declared;
            res.insert(name, Variable { name: name.to_owned(), origin, reads });
        }
        res.into_values().collect()
    }

    /// The variables of the host that declared values name and may not read.
    pub(crate) fn ungranted(&self) -> Vec<String> {
        let named = self.declared.variables().into_iter();
        named.filter(|it| !is_own(it) && !self.may_read(it)).map(ToOwned::to_owned).collect()
    }

    /// The variables that the host has and declared values may not read, so that a default stands in
    /// their place.
    pub(crate) fn defaulted(&self) -> Vec<String> {
        let missing = self.declared.missing(&self.readable()).missing;
        let has_default = |name: &String| !missing.contains_key(name);
        let names = self.ungranted().into_iter();
        names.filter(|it| self.host.get(it).is_some()).filter(has_default).collect()
    }

    /// The variables that declared values cannot do without and the host does not have.
    ///
    /// A name that the host has and the plugin may not read is not among them: see
    /// [`ungranted`](Self::ungranted).
    pub(crate) fn unset(&self) -> Vec<String> {
        let names = self.declared.missing(&self.readable()).missing.into_keys();
        names.filter(|it| !is_own(it) && self.host.get(it).is_none()).collect()
    }

    /// The plugin's own variables: [`PLUGIN_ROOT`], and [`PLUGIN_DATA`] where there is a
    /// directory.
    fn own(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let own = [(PLUGIN_ROOT, self.root), (PLUGIN_DATA, self.data)];
        own.into_iter().filter_map(|(name, dir)| Some((name, dir?.as_os_str().to_owned())))
    }

    /// The granted names. The plugin's own variables are never the host's.
    fn granted(&self) -> impl Iterator<Item = &str> {
        self.granted.iter().map(String::as_str).filter(|it| !is_own(it))
    }

    /// The variables that declared values name and may read.
    ///
    /// The host's [`PLUGIN_ROOT`] and [`PLUGIN_DATA`] are taken out first: a host that runs
    /// inside a plugin must not pass its own directories on.
    fn readable(&self) -> Environment {
        let named = self.declared.variables();
        let mut res: Environment = named
            .into_iter()
            .filter(|name| self.may_read(name))
            .filter_map(|name| Some((name, self.host.get(name)?)))
            .collect();
        for own in [PLUGIN_ROOT, PLUGIN_DATA] {
            res.remove(own);
        }
        res.extend(self.own());
        res
    }

    /// Whether a declared value may read the host's variable; always where [`StrictEnv`] is off.
    fn may_read(&self, name: &str) -> bool {
        self.strict == StrictEnv::Off
            || self.granted.contains(name)
            || EnvPolicy::MINIMAL_NAMES.contains(&name)
    }

    /// Sorts what is missing: what the host has but did not grant, and what it does not have.
    fn unresolved(&self, missing: MissingVariables) -> Unresolved {
        let (refused, unset) = missing
            .missing
            .into_iter()
            .partition(|(name, _)| !self.may_read(name) && self.host.get(name).is_some());
        Unresolved::Missing {
            unset: MissingVariables { missing: unset },
            refused: MissingVariables { missing: refused },
        }
    }
}

/// Whether a variable is set for the plugin, whatever the host has.
fn is_own(name: &str) -> bool {
    name == PLUGIN_ROOT || name == PLUGIN_DATA
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use expect_test::{Expect, expect};
    use flyto_execenv::Template;

    use super::*;

    struct Case {
        host: Environment,
        granted: BTreeSet<String>,
        declared: Declared,
        strict: StrictEnv,
    }

    impl Case {
        fn new(declared: &[(&str, &str)]) -> Self {
            let host = [
                ("PATH", "/bin"),
                ("LANG", "C"),
                ("TOKEN", "secret"),
                ("EMPTY", ""),
                ("PLUGIN_ROOT", "/of/another/host"),
            ];
            let mut res = Self {
                host: host.into_iter().collect(),
                granted: BTreeSet::new(),
                declared: Declared::new(),
                strict: StrictEnv::Off,
            };
            for (name, value) in declared {
                res.declared.insert(*name, Template::parse(value).expect("valid"));
            }
            res
        }

        fn granted(mut self, names: &[&str]) -> Self {
            self.granted = names.iter().map(|&it| it.to_owned()).collect();
            self
        }

        fn strict(mut self) -> Self {
            self.strict = StrictEnv::On;
            self
        }

        fn sources(&self) -> Sources<'_> {
            Sources {
                host: &self.host,
                root: Some(Path::new("/plugins/p")),
                data: Some(Path::new("/data/p")),
                granted: &self.granted,
                declared: &self.declared,
                strict: self.strict,
            }
        }

        #[track_caller]
        fn check(&self, expect: Expect) {
            let sources = self.sources();
            let mut text = String::new();
            match sources.build() {
                Ok(env) => {
                    let origins: BTreeMap<_, _> =
                        sources.variables().into_iter().map(|it| (it.name, it.origin)).collect();
                    // In one order too: a preview names the variables of what was built.
                    assert!(
                        env.names().eq(sources.variables().iter().map(|it| OsStr::new(&it.name)))
                    );
                    for (name, value) in env.iter() {
                        let name = name.to_str().expect("UTF-8");
                        text += &format!("{name}={} {:?}\n", value.display(), origins[name]);
                    }
                }
                Err(err) => text = format!("{err}\n{}\n", err.names().join(" ")),
            }
            expect.assert_eq(&text);
        }
    }

    #[test]
    fn nothing_but_the_four_layers() {
        Case::new(&[]).check(expect![[r#"
            LANG=C Host
            PATH=/bin Host
            PLUGIN_DATA=/data/p Plugin
            PLUGIN_ROOT=/plugins/p Plugin
        "#]]);
        Case::new(&[("LANG", "de"), ("X", "${TOKEN}:${NONE:-d}")])
            .granted(&["EMPTY", "NONE", "PLUGIN_ROOT"])
            .check(expect![[r#"
                EMPTY= Granted
                LANG=de Declared
                PATH=/bin Host
                PLUGIN_DATA=/data/p Plugin
                PLUGIN_ROOT=/plugins/p Plugin
                X=secret:d Declared
            "#]]);
    }

    #[test]
    fn a_declared_value_may_use_the_plugins_own_directories() {
        Case::new(&[("LIB", "${PLUGIN_ROOT}/lib:$PLUGIN_DATA")]).strict().check(expect![[r#"
            LANG=C Host
            LIB=/plugins/p/lib:/data/p Declared
            PATH=/bin Host
            PLUGIN_DATA=/data/p Plugin
            PLUGIN_ROOT=/plugins/p Plugin
        "#]]);
    }

    #[test]
    fn what_is_not_set_is_listed() {
        Case::new(&[("A", "$X$Y"), ("B", "$X")]).check(expect![[r#"
            variables not set: X (used in A, B), Y (used in A)
            X Y
        "#]]);
    }

    #[test]
    fn strict_means_granted() {
        let declared = [("A", "$TOKEN"), ("B", "$PATH${NONE:-}"), ("C", "${TOKEN:-none}")];
        Case::new(&declared).strict().check(expect![[r#"
            variable not granted: TOKEN (used in A)
            TOKEN
        "#]]);
        Case::new(&[("A", "$TOKEN$X")]).strict().check(expect![[r#"
            variable not set: X (used in A); variable not granted: TOKEN (used in A)
            X TOKEN
        "#]]);
        Case::new(&declared[1..]).strict().check(expect![[r#"
            B=/bin Declared
            C=none Declared
            LANG=C Host
            PATH=/bin Host
            PLUGIN_DATA=/data/p Plugin
            PLUGIN_ROOT=/plugins/p Plugin
        "#]]);
        Case::new(&declared[..1]).granted(&["TOKEN"]).strict().check(expect![[r#"
            A=secret Declared
            LANG=C Host
            PATH=/bin Host
            PLUGIN_DATA=/data/p Plugin
            PLUGIN_ROOT=/plugins/p Plugin
            TOKEN=secret Granted
        "#]]);
    }

    #[test]
    fn what_has_to_be_granted_or_set_is_told() {
        #[track_caller]
        fn check(case: &Case, ungranted: &[&str], unset: &[&str]) {
            assert_eq!((case.sources().ungranted(), case.sources().unset()), {
                let owned = |it: &[&str]| it.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
                (owned(ungranted), owned(unset))
            });
        }
        let declared = [("A", "$TOKEN$X"), ("B", "$PATH$PLUGIN_ROOT${MODE:-fast}"), ("C", "$X")];
        check(&Case::new(&declared), &[], &["X"]);
        check(&Case::new(&declared).strict(), &["MODE", "TOKEN", "X"], &["X"]);
        check(&Case::new(&declared).strict().granted(&["X", "TOKEN"]), &["MODE"], &["X"]);
        check(&Case::new(&declared[1..2]), &[], &[]);
    }

    #[test]
    fn a_default_in_the_place_of_a_set_variable_is_told() {
        let declared = [("A", "${TOKEN:-none}"), ("B", "${MODE:-fast}"), ("C", "$EMPTY")];
        let check = |case: Case, expect: &[&str]| {
            assert_eq!(case.sources().defaulted(), expect);
        };
        check(Case::new(&declared), &[]);
        check(Case::new(&declared).strict(), &["TOKEN"]);
        check(Case::new(&declared).strict().granted(&["TOKEN"]), &[]);
    }
}
