//! Words by which a program runs another of its commands.
//!
//! `git` looks up a word that is none of its own commands in its configuration, where an alias stands for any command with any
//! words ([`git-config(1)`](https://git-scm.com/docs/git-config), `alias.*`). That may be of the repository, of the user, of a variable or
//! of the command line, so it is not looked for: any such word may be any command. An alias hides none of git's own commands.
//!
//! Other programs have aliases too (`cargo`, `gh`, `hg`), and are not looked at.

use crate::bash::Word;

/// Options of `git` whose value is the next word ([`git(1)`](https://git-scm.com/docs/git)).
const WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

/// Commands that come with git 2.47 and that no alias takes the place of, in order. A command of a later version may be an alias of an
/// earlier one, and so may a part of git that is installed by itself.
#[rustfmt::skip] // A list reads best as one.
const OWN: &[&str] = &[
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bugreport", "bundle", "cat-file",
    "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "checkout", "checkout--worker",
    "checkout-index", "cherry", "cherry-pick", "clean", "clone", "column", "commit", "commit-graph", "commit-tree",
    "config", "count-objects", "credential", "credential-cache", "credential-cache--daemon", "credential-store",
    "describe", "diagnose", "diff", "diff-files", "diff-index", "diff-tree", "difftool", "fast-export", "fast-import",
    "fetch", "fetch-pack", "fmt-merge-msg", "for-each-ref", "for-each-repo", "format-patch", "fsck", "fsck-objects",
    "fsmonitor--daemon", "gc", "get-tar-commit-id", "grep", "hash-object", "help", "hook", "index-pack", "init",
    "init-db", "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit",
    "maintenance", "merge", "merge-base", "merge-file", "merge-index", "merge-ours", "merge-recursive",
    "merge-recursive-ours", "merge-recursive-theirs", "merge-subtree", "merge-tree", "mergetool", "mktag", "mktree",
    "multi-pack-index", "mv", "name-rev", "notes", "pack-objects", "pack-refs", "patch-id", "pickaxe", "prune",
    "prune-packed", "pull", "push", "range-diff", "read-tree", "rebase", "receive-pack", "reflog", "refs", "remote",
    "remote-ext", "remote-fd", "repack", "replace", "replay", "rerere", "reset", "restore", "rev-list", "rev-parse",
    "revert", "rm", "send-pack", "shortlog", "show", "show-branch", "show-index", "show-ref", "sparse-checkout",
    "stage", "stash", "status", "stripspace", "submodule", "submodule--helper", "switch", "symbolic-ref", "tag", "unpack-file",
    "unpack-objects", "update-index", "update-ref", "update-server-info", "upload-archive", "upload-archive--writer",
    "upload-pack", "var", "verify-commit", "verify-pack", "verify-tag", "version", "worktree", "write-tree",
];

/// Whether a program of this name, without its directory, may run any of its commands by these words.
pub(super) fn may_be_any(program: &str, words: &[Word]) -> bool {
    if program != "git" {
        return false;
    }
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // What is not known is told where it is compared.
        let Some(text) = word.literal() else { return false };
        if WITH_VALUE.contains(&text) {
            words.next();
        } else if !text.starts_with('-') {
            return OWN.binary_search(&text).is_err();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::OWN;

    #[test]
    fn the_names_are_in_order() {
        assert!(OWN.is_sorted());
    }
}
