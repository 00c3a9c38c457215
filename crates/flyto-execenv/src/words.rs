//! Arguments and variables that are too long for a start.

use std::{error::Error as _, ffi::OsStr, fmt, mem};

use crate::{ExecError, MAX_VALUE_BYTES, Spec, expand::shortened};

/// Why the system does not hand the arguments and variables of a spec to a program
/// ([execve(2)](https://man7.org/linux/man-pages/man2/execve.2.html)).
///
/// It is the source of an [`ExecError`] of the kind [`TooLong`](crate::ExecErrorKind::TooLong), where the backend knows the
/// bounds of the machine on which the program would run; see [`WordsTooLong::of`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WordsTooLong {
    /// One argument has more than [`MAX_VALUE_BYTES`].
    Argument {
        /// Its place among the arguments; the first one is 1.
        number: usize,
        /// Its length.
        n_bytes: u64,
    },
    /// One variable has more than [`MAX_VALUE_BYTES`], its name and the `=` counted.
    Variable {
        /// Its name.
        name: String,
        /// The length of name, `=` and value.
        n_bytes: u64,
    },
    /// Each word is short enough, and all of them together are not.
    Together {
        /// Bytes of the program's name and of its arguments, with what stands around each.
        argument_bytes: u64,
        /// Bytes of the variables, with what stands around each.
        variable_bytes: u64,
        /// The most that the system takes of both.
        max_bytes: u64,
    },
}

impl WordsTooLong {
    /// The cause of an error that says so.
    #[must_use]
    pub fn of(err: &ExecError) -> Option<&Self> {
        err.source()?.downcast_ref()
    }

    /// Whether shorter variables would mend it rather than shorter arguments: the larger part is to blame.
    #[must_use]
    pub fn blames_variables(&self) -> bool {
        match self {
            Self::Argument { .. } => false,
            Self::Variable { .. } => true,
            Self::Together { argument_bytes, variable_bytes, .. } => {
                variable_bytes > argument_bytes
            }
        }
    }

    /// What is too long of a spec, on a system that takes `max_bytes` of arguments and variables together, as
    /// `local::max_words_bytes` tells of this one. `program` is the file that would be started.
    ///
    /// What the kernel itself adds, as for the interpreter of a script, is not counted: a spec that is near the bound may
    /// still be refused by it.
    #[must_use]
    pub fn find(spec: &Spec, program: &OsStr, max_bytes: u64) -> Option<Self> {
        let is_too_long = |n_bytes: usize| n_bytes > MAX_VALUE_BYTES;
        if let Some(at) = spec.args.iter().position(|it| is_too_long(it.len())) {
            let n_bytes = spec.args[at].len() as u64;
            return Some(Self::Argument { number: at + 1, n_bytes });
        }
        let mut variables =
            spec.env.iter().map(|(name, value)| (name, name.len() + 1 + value.len()));
        if let Some((name, n_bytes)) = variables.find(|it| is_too_long(it.1)) {
            let name = name.to_string_lossy().into_owned();
            return Some(Self::Variable { name, n_bytes: n_bytes as u64 });
        }
        // The path of the file stands beside the arguments, without a pointer.
        let program_bytes =
            program.len() as u64 + 1 + argument_bytes(spec.program.as_os_str().len());
        let args = spec.args.iter().map(|it| argument_bytes(it.len()));
        let argument_bytes = program_bytes + args.sum::<u64>();
        let variables = spec.env.iter().map(|(name, value)| variable_bytes(name, value));
        let variable_bytes = variables.sum();
        (argument_bytes + variable_bytes > max_bytes).then_some(Self::Together {
            argument_bytes,
            variable_bytes,
            max_bytes,
        })
    }
}

/// What a variable takes of the bytes that a system has for arguments and variables: name, `=`, value, a NUL and a pointer.
#[must_use]
pub fn variable_bytes(name: &OsStr, value: &OsStr) -> u64 {
    argument_bytes(name.len() + 1 + value.len())
}

/// What an argument of so many bytes takes of the bytes that a system has for arguments and variables: the NUL behind it and a
/// pointer beside them.
#[must_use]
pub fn argument_bytes(n_bytes: usize) -> u64 {
    (n_bytes + 1 + mem::size_of::<*const u8>()) as u64
}

impl fmt::Display for WordsTooLong {
    /// What is too long, by how much, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { number, n_bytes } => write!(
                f,
                "argument {number} has {n_bytes} bytes, and {MAX_VALUE_BYTES} are the most; hand it over in a file"
            ),
            Self::Variable { name, n_bytes } => write!(
                f,
                "the variable {} has {n_bytes} bytes with its name, and {MAX_VALUE_BYTES} are the most; hand its value \
                 over in a file",
                shortened(name)
            ),
            Self::Together { argument_bytes, variable_bytes, max_bytes } => {
                let n_over =
                    argument_bytes.saturating_add(*variable_bytes).saturating_sub(*max_bytes);
                let larger = if self.blames_variables() { "variables" } else { "arguments" };
                write!(
                    f,
                    "arguments of {argument_bytes} bytes and variables of {variable_bytes} are {n_over} bytes more than \
                     the {max_bytes} that the system takes together; shorten the {larger}, or raise the limit of the \
                     stack (`ulimit -s`), of which they get a quarter, at most 6 MiB"
                )
            }
        }
    }
}

impl std::error::Error for WordsTooLong {}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(spec: &Spec, max_bytes: u64, expect: Expect) {
        let found = WordsTooLong::find(spec, "/bin/true".as_ref(), max_bytes);
        expect.assert_eq(&found.map_or_else(String::new, |it| it.to_string()));
    }

    #[test]
    fn what_is_too_long_is_named() {
        let word = |n_bytes: usize| "x".repeat(n_bytes);
        let spec = || Spec::new("true").arg("a");
        check(&spec().arg(word(MAX_VALUE_BYTES)), 6 << 20, expect![""]);
        check(
            &spec().arg(word(MAX_VALUE_BYTES + 1)),
            6 << 20,
            expect!["argument 2 has 131072 bytes, and 131071 are the most; hand it over in a file"],
        );
        check(&spec().env_var("V", word(MAX_VALUE_BYTES - 2)), 6 << 20, expect![""]);
        check(
            &spec().env_var("V", word(MAX_VALUE_BYTES - 1)),
            6 << 20,
            expect![
                "the variable V has 131072 bytes with its name, and 131071 are the most; hand its value over in a file"
            ],
        );
        // `/bin/true`, and then `true`, `a`, `V=xxx`, each with a NUL, and three pointers.
        let pointer = mem::size_of::<*const u8>() as u64;
        let spec = spec().env_var("V", "xxx");
        let most = 10 + 5 + 2 + 6 + 3 * pointer;
        check(&spec, most, expect![""]);
        assert!(WordsTooLong::find(&spec, "/bin/true".as_ref(), most - 1).is_some());
    }

    #[test]
    fn the_larger_part_is_to_blame() {
        let together = |argument_bytes, variable_bytes| WordsTooLong::Together {
            argument_bytes,
            variable_bytes,
            max_bytes: 100,
        };
        expect!["arguments of 20 bytes and variables of 90 are 10 bytes more than the 100 that the system takes together; shorten the variables, or raise the limit of the stack (`ulimit -s`), of which they get a quarter, at most 6 MiB"]
            .assert_eq(&together(20, 90).to_string());
        assert!(together(20, 90).blames_variables() && !together(90, 20).blames_variables());
    }
}
