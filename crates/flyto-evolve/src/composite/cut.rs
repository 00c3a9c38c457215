//! The results of steps within their bound, and the whole of what is cut.
//!
//! A step behind another one sees the start and the end of a long text, with the host's line between them, so that neither a
//! model nor a program takes a part for the whole. The line counts as part of the bound: a recorded step is not cut again
//! when it is replayed.
//!
//! What is written is the text as the tool gave it, in a file of its own that is never overwritten.

use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write as _},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use flyto_execenv::SpillDir;
use flyto_program::omission_notice;
use flyto_tools::Omitted;

use super::{
    MAX_STEP_BYTES,
    value::{Expr, Scope},
};

/// The room for the line that says what was cut: a path and a reason have it.
const NOTICE_BYTES: usize = 8 * 1024;

/// A text within [`MAX_STEP_BYTES`], and how much of it is missing. Of a longer one, the start and the end stay, and a line
/// between them says how much was cut and where the whole lies.
///
/// `before` is what was left out before, which the text says then. The whole is written to `dir`, unless it lies in a file
/// already, or is not at hand since something was left out before.
pub(super) fn cut(
    text: String,
    before: Option<Omitted>,
    dir: Option<&SpillDir>,
) -> (String, Option<Omitted>) {
    if text.len() <= MAX_STEP_BYTES {
        return (text, before);
    }
    let room = (MAX_STEP_BYTES - NOTICE_BYTES) / 2;
    let (head, tail) = (text.floor_char_boundary(room), text.ceil_char_boundary(text.len() - room));
    let n_cut = (tail - head) as u64;
    let mut omitted = match before {
        Some(mut before) => {
            before.bytes += n_cut;
            before
        }
        None => match dir.map(|dir| (dir, keep(text.as_bytes(), dir))) {
            Some((_, Ok(path))) => Omitted::new(n_cut).with_whole(path.to_string_lossy()),
            Some((dir, Err(err))) => {
                Omitted::new(n_cut).with_not_kept(format!("{}: {err}", dir.path.display()))
            }
            None => Omitted::new(n_cut),
        },
    };
    let mut notice = omission_notice(&omitted);
    if notice.len() > NOTICE_BYTES - 2 {
        omitted = Omitted::new(omitted.bytes);
        notice = omission_notice(&omitted);
    }
    (format!("{}\n{notice}\n{}", &text[..head], &text[tail..]), Some(omitted))
}

/// What is missing of the results that a value is made of: all bytes together, and the whole where they are of one result.
pub(super) fn omitted_of(expr: &Expr, scope: &Scope) -> Option<Omitted> {
    let mut ids: Vec<&str> = Vec::new();
    expr.each_ref(&mut |it| {
        let is_text = matches!(it.tokens.get(2).map(String::as_str), Some("output" | "text"));
        ids.extend(it.step().filter(|_| is_text));
    });
    ids.sort_unstable();
    ids.dedup();
    joined(ids.iter().filter_map(|id| scope.steps.get(*id)?.omitted.clone()))
}

/// What is missing of several results together. Where it is of more than one, each text names its own file.
pub(super) fn joined(parts: impl Iterator<Item = Omitted>) -> Option<Omitted> {
    parts.reduce(|a, b| Omitted::new(a.bytes + b.bytes))
}

/// Writes a text to a new file that only the user can read, within the bounds of its directory.
///
/// # Errors
///
/// The directory or the file cannot be made or written, or has no room for it. No file stays then.
fn keep(bytes: &[u8], dir: &SpillDir) -> io::Result<PathBuf> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let (mut dirs, mut options) = (DirBuilder::new(), OpenOptions::new());
    dirs.recursive(true);
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        dirs.mode(0o700);
        options.mode(0o600);
    }
    dirs.create(&dir.path)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let (now, process) = (since.as_millis(), std::process::id());
    let path = dir.path.join(format!("{now}-{process}-{number}-step.txt"));
    let mut file = options.open(&path)?;
    let reserved = match dir.bounds {
        Some(bounds) => bounds.reserve(&file, &dir.path, 0, bytes.len() as u64),
        None => Ok(()),
    };
    if let Err(err) = reserved.and_then(|()| file.write_all(bytes)) {
        // A part under the name of the whole would mislead.
        drop(std::fs::remove_file(&path));
        return Err(err);
    }
    Ok(path)
}
