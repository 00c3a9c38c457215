//! How long an argument of a program may be.
//!
//! What no program can get is refused where it is declared, and values of a call before they are put together: a
//! start that fails tells too late, when the memory is taken.

/// Bytes of the longest argument of a program: on Linux 32 pages of 4 KiB with the zero byte at the end
/// (`MAX_ARG_STRLEN`, execve(2)). Other systems bound all arguments together, which the start of the program tells.
pub const MAX_ARGUMENT_BYTES: usize = 32 * 4096 - 1;

/// Bytes of all arguments of a program together, 6 MiB: three quarters of the stack that Linux gives a program by
/// default, however large the limit of the stack is (`ARG_MAX`, execve(2)). Under a smaller limit the system takes less,
/// which the start of the program tells.
pub const MAX_ARGUMENTS_BYTES: usize = 6 * 1024 * 1024;
