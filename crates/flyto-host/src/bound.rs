//! Truncating a result's text to what a model can read, and keeping the whole of it in a file for people.
//!
//! [`Host::call`](crate::Host::call) passes each result through [`bound`] as its last step,
//! whatever the kind of tool. The limit counts bytes of UTF-8 text, not characters or tokens. The
//! line that says what is missing is added to the limit, not taken from it.
//!
//! Kept files lie in `output` below the user's state directory, each readable by the user alone. Which of them
//! stay is decided in [`spill`](crate::spill).

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
    time::SystemTime,
};

use flyto_execenv::SpillBounds;
use flyto_program::omission_notice;
use flyto_tools::{CallId, Omitted, ToolResult};

use crate::spill;

/// Bytes of text that a model gets unless the configuration says otherwise: 64 KiB, some 16,000
/// tokens.
pub const DEFAULT_OUTPUT_LIMIT_BYTES: u64 = 64 * 1024;

/// Cuts the middle out of a text that is longer than `limit` bytes. Nothing is cut silently: a line
/// says how much is missing and where the whole of it lies, if `dir` could take it.
///
/// The first half of the limit is kept from the start of the text and the second half from its end;
/// with an odd limit the start has one byte more. Both cuts move inwards to the boundary of a
/// character, so up to three bytes at each end are cut beyond what the limit demands.
///
/// What the program's runner left out before counts as missing too, and its file with the whole is
/// named instead of a new one. A runner that left something out without keeping it gets no file
/// here: the text at hand is no whole. After a cut, [`ToolResult::raw`] is `None`, since it would
/// hold what was cut out.
///
/// A file that cannot be written does not fail the call: the reason is in [`Omitted::not_kept`].
pub(crate) fn bound(
    mut result: ToolResult,
    limit: u64,
    dir: Option<&Path>,
    id: &CallId,
) -> ToolResult {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // As the runner wrote it.
    let earlier = result.omitted.as_ref().map(omission_notice);
    if let (Some(omitted), Some(dir)) = (&mut result.omitted, dir)
        && omitted.whole.is_none()
        && omitted.not_kept.is_none()
    {
        // The runner was given no directory.
        omitted.not_kept = spill::refused(dir).map(|err| format!("{}: {err}", dir.display()));
    }
    let text = &result.output;
    if text.len() <= limit {
        return result;
    }
    let head_end = text.floor_char_boundary(limit - limit / 2);
    let tail_start = text.ceil_char_boundary(text.len() - limit / 2);
    // A line that says what is missing is no output, so it is not missing when it is cut out as well.
    let cut = tail_start - head_end - n_of_notice(text, earlier.as_deref(), head_end..tail_start);
    let cut = cut as u64;

    let (before, kept, not_kept) = match result.omitted.take() {
        Some(it) => (it.bytes, it.whole, it.not_kept),
        None => (0, None, None),
    };
    let mut omitted = Omitted::new(before + cut);
    omitted.not_kept = not_kept;
    // An output of which the program's runner already left something out is no whole.
    match (kept, dir) {
        (Some(whole), _) => omitted = omitted.with_whole(whole),
        (None, Some(dir)) if before == 0 => {
            let bytes = result.raw.as_deref().unwrap_or(text.as_bytes());
            omitted = match keep(bytes, dir, id, spill::BOUNDS) {
                Ok(file) => omitted.with_whole(file.to_string_lossy()),
                Err(err) => omitted.with_not_kept(format!("{}: {err}", dir.display())),
            };
        }
        _ => {}
    }
    let notice = omission_notice(&omitted);
    result.output = format!("{}\n{notice}\n{}", &text[..head_end], &text[tail_start..]);
    result.raw = None;
    result.omitted = Some(omitted);
    result
}

/// How many bytes of a part of the text belong to the line that says what is missing already.
///
/// `part` is a range of bytes in the text. The answer is 0 where the runner left nothing out, or where its `notice` does not
/// stand in the text as [`omission_notice`] writes it.
fn n_of_notice(text: &str, notice: Option<&str>, part: Range<usize>) -> usize {
    let Some(notice) = notice.map(|it| format!("\n{it}\n")) else { return 0 };
    let Some(start) = text.find(&notice) else { return 0 };
    let end = start + notice.len();
    end.min(part.end).saturating_sub(start.max(part.start))
}

/// Writes an output to a new file in `dir` that only the user can read.
///
/// Directories on the way are made with mode 0700, the file with 0600 (inode(7)); a directory that is a link, or open to
/// others, is refused. The name holds
/// the milliseconds since 1970, the number of this process, and the id of the call, so two hosts of
/// one user do not collide; a name that is taken is an error and not an overwrite.
///
/// # Errors
///
/// A directory or the file cannot be made, the bytes cannot be written whole, or `bounds` leave no room for them. Then no
/// file stays.
fn keep(bytes: &[u8], dir: &Path, id: &CallId, bounds: SpillBounds) -> io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        crate::disk::private_dir(dir)?;
    }
    #[cfg(not(unix))]
    fs::create_dir_all(dir)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // An id may come from outside; only its letters, digits and dashes make a file name.
    let id: String =
        id.as_str().chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').collect();
    let path = dir.join(format!("{}-{}-{id}.txt", since.as_millis(), std::process::id()));
    let mut file = options.open(&path)?;
    let n_bytes = bytes.len() as u64;
    let written = bounds.reserve(&file, dir, 0, n_bytes).and_then(|()| file.write_all(bytes));
    if let Err(err) = written {
        // Half of an output under the name of the whole would mislead.
        let _ = fs::remove_file(&path);
        return Err(err);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_id() -> CallId {
        CallId::new("a/../b-1").expect("printable")
    }

    #[test]
    fn a_short_text_stays_as_it_is() {
        let result = ToolResult::text("é".repeat(5));
        assert_eq!(bound(result.clone(), 10, None, &call_id()), result);
    }

    #[test]
    fn a_long_text_keeps_both_ends_and_its_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = format!("{}{}", "ä".repeat(100), "ö".repeat(100));
        let res = bound(ToolResult::text(text.clone()), 21, Some(dir.path()), &call_id());
        let omitted = res.omitted.expect("something was cut");
        let whole = omitted.whole.expect("it was kept");
        assert_eq!(omitted.bytes, 400 - 20);
        assert_eq!(fs::read_to_string(&whole).expect("written"), text);
        assert_eq!(
            res.output,
            format!("äääää\n[… 380 bytes omitted, the whole is in {whole} …]\nööööö")
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&whole).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_whole_that_cannot_be_kept_is_not_promised() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("written");
        let res = bound(ToolResult::text("0123456789"), 4, Some(&file), &call_id());
        let omitted = res.omitted.expect("something was cut");
        assert_eq!((omitted.bytes, omitted.whole), (6, None));
        let why = omitted.not_kept.expect("it was not kept");
        let notice = format!("[… 6 bytes omitted, the whole is not kept: {why} …]");
        assert_eq!(res.output, format!("01\n{notice}\n89"));
        assert!(why.starts_with(&format!("{}: ", file.display())), "{why}");
    }

    #[test]
    fn a_directory_with_its_bound_keeps_no_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let bounds = SpillBounds::new(25).least_age(std::time::Duration::from_secs(60));
        let keep = || keep(b"0123456789", dir.path(), &CallId::next(), bounds);
        let kept = [keep(), keep()].map(|it| it.expect("there is room"));
        let err = keep().expect_err("there is none");
        assert_eq!(err.kind(), io::ErrorKind::QuotaExceeded);
        assert!(kept.iter().all(|it| it.exists()));
        assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_kept_behind_a_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        fs::create_dir(&target).expect("made");
        std::os::unix::fs::symlink(&target, &link).expect("made");
        let why = Some(format!("{}: it is a link or no directory", link.display()));
        let res = bound(ToolResult::text("0123456789"), 4, Some(&link), &call_id());
        assert_eq!(res.omitted.expect("something was cut").not_kept, why);
        // The same of what the runner left out.
        let before = ToolResult::text("0").with_omitted(Omitted::new(1000));
        let res = bound(before, 4, Some(&link), &call_id());
        assert_eq!(res.omitted.expect("something was cut").not_kept, why);
        assert_eq!(fs::read_dir(&target).expect("listed").count(), 0);
    }

    #[test]
    fn why_the_runner_kept_no_whole_is_passed_on() {
        let before = Omitted::new(1000).with_not_kept("/full/out: No space left on device");
        let text = format!("01234\n{}\n56789", omission_notice(&before));
        let res = bound(ToolResult::text(text).with_omitted(before), 4, None, &call_id());
        let why = res.omitted.expect("something was cut").not_kept;
        assert_eq!(why.as_deref(), Some("/full/out: No space left on device"));
    }

    #[test]
    fn a_line_about_what_is_missing_does_not_count_as_missing() {
        let before = Omitted::new(1000);
        let text = format!("01234\n{}\n56789", omission_notice(&before));
        let res = bound(ToolResult::text(text).with_omitted(before), 4, None, &call_id());
        assert_eq!(res.output, "01\n[… 1006 bytes omitted …]\n89");
        assert_eq!(res.omitted, Some(Omitted::new(1006)));
    }

    #[test]
    fn what_was_left_out_before_counts_as_well() {
        let before = Omitted::new(1000).with_whole("/spill");
        let res = bound(ToolResult::text("0123456789").with_omitted(before), 4, None, &call_id());
        assert_eq!(res.omitted, Some(Omitted::new(1006).with_whole("/spill")));
    }
}
