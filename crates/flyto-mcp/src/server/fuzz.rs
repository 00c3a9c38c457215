//! The decoders of what a client writes.

use super::{
    line::{Line, Lines},
    message::{Frame, Message, Unreadable},
    params::Params,
    seal::{Sealer, canonical},
};

/// Longest line here: short, so that longer ones are met as well.
const MAX_BYTES: u64 = 4096;

/// Splits bytes into lines, and reads each as far as a server does before it acts on it.
///
/// # Panics
///
/// A line is longer than the bound, or arguments have another form once they were brought into one.
pub(crate) fn lines(bytes: &[u8]) {
    let sealer = Sealer::new().ok();
    let mut lines = Lines::new(bytes, MAX_BYTES);
    while let Ok(Some(line)) = lines.next() {
        let text = match line {
            Line::Whole(text) => text,
            Line::TooLong(n) => {
                assert!(n > MAX_BYTES, "a line within the bound is kept");
                continue;
            }
        };
        assert!(text.len() as u64 <= MAX_BYTES, "a longer line is dropped");
        match Frame::parse(&text) {
            Frame::One(message) => read(message, sealer.as_ref()),
            Frame::Batch(messages) => {
                messages.into_iter().for_each(|it| read(it, sealer.as_ref()));
            }
        }
    }
}

fn read(message: Result<Message<'_>, Unreadable>, sealer: Option<&Sealer>) {
    let Ok(Message::Request { params, .. } | Message::Notification { params, .. }) = message else {
        return;
    };
    let Ok(mut params) = Params::read(params) else { return };
    let _ = params.take_terms();
    if let Some(arguments) = params.arguments {
        let one_form = canonical(arguments.get());
        assert_eq!(canonical(&one_form), one_form, "one form has one form");
    }
    if let (Some(sealer), Some(state)) = (sealer, &params.request_state) {
        assert!(sealer.open(state, "p:t", "{}").is_err(), "no state of another key is taken");
    }
}
