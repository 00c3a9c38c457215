//! The names that links give to a place.
//!
//! A rule may name a place through a link: `Read(/var/run/secrets/**)`, where
//! `/var/run` leads to `/run`. The place is the same under both names, so a path
//! that lies in it is compared under the name of the rule as well. What rules and
//! protected places name is looked up once, when the first call is decided; a link
//! that is made later gives its place no further name.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use crate::location::absolute_location;

/// By where it leads: each name of a place that leads elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Links(HashMap<String, Vec<String>>);

impl Links {
    /// Looks absolute paths up. One that cannot be looked up has no other name, and
    /// neither has a device: `~/.netrc` may lead to `/dev/null`.
    fn of(places: BTreeSet<String>) -> Self {
        let mut res: HashMap<String, Vec<String>> = HashMap::new();
        for place in places {
            if let Ok(found) = absolute_location(&place)
                && found.elsewhere().is_some()
                && !is_device(&found.resolved)
            {
                res.entry(found.resolved).or_default().push(found.written);
            }
        }
        Self(res)
    }

    /// The parts of a path, each of which may be a pattern that `fits` a name, with
    /// the other names of each place that they may lead into.
    pub(crate) fn renamed<'a>(
        &'a self,
        parts: &'a [&str],
        fits: impl Fn(&str, &str) -> bool + 'a,
    ) -> impl Iterator<Item = Vec<String>> + 'a {
        fn split(path: &str) -> impl Iterator<Item = &str> {
            path.split('/').filter(|it| !it.is_empty())
        }
        self.0.iter().flat_map(move |(place, names)| {
            let n_parts = split(place).count();
            let may_be = n_parts <= parts.len()
                && split(place).zip(parts).all(|(name, part)| fits(part, name));
            let names = names.iter().filter(move |_| may_be);
            let behind = move || parts[n_parts..].iter().copied();
            names.map(move |name| split(name).chain(behind()).map(str::to_owned).collect())
        })
    }

    /// The other names of an absolute path without links.
    pub(crate) fn names<'a>(&'a self, path: &'a str) -> impl Iterator<Item = String> + 'a {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        let places = ends.map(|end| path.split_at(end)).filter(|it| it.0 != "/");
        let root = ("/", path.trim_end_matches('/'));
        let places = places.chain([root]).take_while(|_| !self.0.is_empty());
        places.flat_map(move |(place, below)| {
            let names = self.0.get(place).into_iter().flatten();
            names.map(move |name| format!("{name}{below}"))
        })
    }
}

/// The links of the last call, which are those of every call where all have one
/// home directory and one working directory.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Option<(Vec<String>, Arc<Links>)>>);

impl Cache {
    /// The links of the places that `find` gives, for calls with these `starts`.
    pub(crate) fn get(
        &self,
        starts: &[Option<&str>],
        find: impl FnOnce() -> BTreeSet<String>,
    ) -> Arc<Links> {
        let starts: Vec<_> = starts.iter().map(|it| it.unwrap_or_default().to_owned()).collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((of, links)) if *of == starts => Arc::clone(links),
            _ => {
                let links = Arc::new(Links::of(find()));
                *kept = Some((starts, Arc::clone(&links)));
                links
            }
        }
    }
}

/// Whether it holds nothing, and is the same for all.
#[cfg(unix)]
fn is_device(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt as _;

    let kind = std::fs::symlink_metadata(path).map(|it| it.file_type());
    kind.is_ok_and(|it| it.is_char_device() || it.is_block_device())
}

#[cfg(not(unix))]
fn is_device(_path: &str) -> bool {
    false
}
