//! Output that is a list of blocks: text, images, audio, resources.

use flyto_tools::{Content, Omitted};

use crate::{
    call::Ran,
    text::{Text, omission_notice},
};

/// How much of stdout is kept at least of a program that prints blocks: 16 MiB. Four times what is kept of the blocks, so that one
/// that is too large is told by name.
pub const MAX_CONTENT_BYTES: u64 = 16 * 1024 * 1024;

/// How much of what turns out to be no list of blocks is a text: 4 MiB, what is captured of any other program.
const LONGEST_TEXT_BYTES: usize = 4 * 1024 * 1024;

impl Ran {
    /// stdout of a program that declares to print blocks, `{"content": […]}`, as [`Content::parse`] reads them.
    ///
    /// # Errors
    ///
    /// What it printed is something else: its text, and a line that says why. Of more than 4 MiB, and of what was not captured
    /// whole, this line is all, since half of an image is of no use.
    pub fn content(&self) -> Result<Content, Text> {
        let mut res = self.stdout();
        let why = match res.omitted {
            Some(_) => "it is too long to be kept whole".to_owned(),
            None => match Content::parse(&res.text) {
                Ok(content) => return Ok(content),
                Err(why) => why,
            },
        };
        let line = format!("[stdout is no list of blocks: {why}]");
        if res.omitted.is_some() || res.text.len() > LONGEST_TEXT_BYTES {
            let mut all = Omitted::new(self.outcome.stdout.total_bytes);
            if let Some(omitted) = res.omitted {
                (all.whole, all.not_kept) = (omitted.whole, omitted.not_kept);
            }
            let text = format!("{line}\n{}", omission_notice(&all));
            return Err(Text { text, raw: None, omitted: Some(all) });
        }
        if !res.text.is_empty() && !res.text.ends_with('\n') {
            res.text.push('\n');
        }
        res.text.push_str(&line);
        Err(res)
    }
}
