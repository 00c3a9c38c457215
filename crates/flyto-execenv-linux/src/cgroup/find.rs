//! Where this process stands in the hierarchies of control groups: cgroups(7), proc_pid_mountinfo(5).
//!
//! Pure functions of the two files' bytes, so that each layout is tested without such a machine.
//! `None` means that no hierarchy shows this process: nothing is mounted, or its cgroup lies outside
//! of what this cgroup namespace sees.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

/// A mounted hierarchy, and where in it this process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The root of what is visible.
    pub(super) mount: PathBuf,
    /// The directory of this process's cgroup.
    pub(super) own: PathBuf,
}

/// The hierarchy of version 2: `members` is `/proc/self/cgroup`, `mounts` is `/proc/self/mountinfo`.
///
/// The line of version 2 begins with `0::`.
pub(super) fn version_2(members: &[u8], mounts: &[u8]) -> Option<Place> {
    let path = lines(members).find_map(|it| it.strip_prefix(b"0::"))?;
    place(path, mounts, |kind, _| kind == b"cgroup2")
}

/// The hierarchy of version 1 with this controller.
///
/// A hierarchy can have several controllers, with commas between them, both in the list of members
/// and in the options of the mount.
pub(super) fn version_1(members: &[u8], mounts: &[u8], controller: &str) -> Option<Place> {
    let names = |list: &[u8]| list.split(|it| *it == b',').any(|it| it == controller.as_bytes());
    let path = lines(members).find_map(|line| {
        let mut fields = line.splitn(3, |it| *it == b':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        names(controllers).then_some(path)
    })?;
    place(path, mounts, |kind, options| kind == b"cgroup" && names(options))
}

/// The first mount that shows the cgroup counts. `is_it` gets the kind of the file system and the
/// options of the superblock.
fn place(path: &[u8], mounts: &[u8], is_it: impl Fn(&[u8], &[u8]) -> bool) -> Option<Place> {
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    lines(mounts).find_map(|line| {
        // Fields, any number of tags, a hyphen, then the kind, the source and the options.
        let fields: Vec<&[u8]> = line.split(|it| *it == b' ').collect();
        let hyphen = fields.iter().position(|it| *it == b"-")?;
        let (kind, options) = (fields.get(hyphen + 1)?, fields.get(hyphen + 3)?);
        if !is_it(kind, options) {
            return None;
        }
        let (root, mount) = (unescaped(fields.get(3)?), unescaped(fields.get(4)?));
        // A path that leaves the root belongs to a cgroup outside of this cgroup namespace.
        let below = path.strip_prefix(root).ok()?;
        let is_visible = below.components().all(|it| matches!(it, Component::Normal(_)));
        // Joining an empty path would add a slash.
        let own = if below == Path::new("") { mount.clone() } else { mount.join(below) };
        is_visible.then_some(Place { mount, own })
    })
}

/// Lines without their ends; empty ones are left out.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|it| *it == b'\n').filter(|it| !it.is_empty())
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut res = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        let code = more.get(..3).filter(|it| *first == b'\\' && it.iter().all(u8::is_ascii_digit));
        let number =
            code.map(|it| it.iter().fold(0_u32, |n, digit| n * 8 + u32::from(digit - b'0')));
        match number.and_then(|it| u8::try_from(it).ok()) {
            Some(byte) => {
                res.push(byte);
                rest = more.get(3..).unwrap_or_default();
            }
            None => res.push(*first),
        }
    }
    PathBuf::from(OsString::from_vec(res))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// As on machines that have both versions.
    const HYBRID: (&str, &str) = (
        "8:pids:/\n4:memory:/a b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/user.slice/me.scope\n",
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
    );

    /// Version 2 alone, in a container with a cgroup namespace of its own.
    const CONTAINER: (&str, &str) =
        ("0::/\n", "41 31 0:38 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");

    /// Version 1 in a container that sees its part of each hierarchy.
    const PART: (&str, &str) = (
        "8:pids:/docker/ab\n",
        "39 31 0:36 /docker/ab /sys/fs/my\\040place ro - cgroup cgroup rw,pids\n",
    );

    /// A process that was moved away, seen from its old namespace.
    const OUTSIDE: (&str, &str) =
        ("0::/../other\n", "41 31 0:38 / /sys/fs/cgroup ro - cgroup2 c rw\n");

    #[track_caller]
    fn check((members, mounts): (&str, &str), expect: Expect) {
        let (members, mounts) = (members.as_bytes(), mounts.as_bytes());
        let mut found = vec![("2", version_2(members, mounts))];
        found.extend(["pids", "memory", "cpuacct"].map(|it| (it, version_1(members, mounts, it))));
        let lines = found.into_iter().map(|(name, place)| match place {
            Some(place) => format!("{name} {} {}\n", place.mount.display(), place.own.display()),
            None => format!("{name} none\n"),
        });
        expect.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn each_hierarchy_is_found_where_it_is_mounted() {
        check(
            HYBRID,
            expect![[r#"
            2 /sys/fs/cgroup/unified /sys/fs/cgroup/unified/user.slice/me.scope
            pids /sys/fs/cgroup/pids /sys/fs/cgroup/pids
            memory /sys/fs/cgroup/memory /sys/fs/cgroup/memory/a b
            cpuacct /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup/cpu,cpuacct
        "#]],
        );
    }

    #[test]
    fn a_container_sees_its_part() {
        check(
            CONTAINER,
            expect![[r#"
            2 /sys/fs/cgroup /sys/fs/cgroup
            pids none
            memory none
            cpuacct none
        "#]],
        );
        check(
            PART,
            expect![[r#"
            2 none
            pids /sys/fs/my place /sys/fs/my place
            memory none
            cpuacct none
        "#]],
        );
    }

    #[test]
    fn a_cgroup_outside_of_what_is_visible_is_no_place() {
        check(
            OUTSIDE,
            expect![[r#"
            2 none
            pids none
            memory none
            cpuacct none
        "#]],
        );
        check(
            ("", ""),
            expect![[r#"
            2 none
            pids none
            memory none
            cpuacct none
        "#]],
        );
    }
}
