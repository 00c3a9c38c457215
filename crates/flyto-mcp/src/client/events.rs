//! A stream of [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), of which only the data is read.

use super::lines::{Line, Lines};

/// Cuts a stream into the data of its events. In memory are at most one line and the data of one event, each within the bound.
#[derive(Debug)]
pub(super) struct Events {
    lines: Lines,
    data: Vec<u8>,
    is_first: bool,
    /// The data of this event is longer than is taken; its bytes are counted.
    too_long: Option<u64>,
    longest: usize,
}

/// The data of one event.
#[derive(Debug, PartialEq)]
pub(super) enum Event<'a> {
    Data(&'a [u8]),
    /// More than is taken: the start, and how much it was.
    TooLong {
        start: &'a [u8],
        bytes: u64,
    },
}

impl Events {
    /// A reader of a stream whose events have at most this many bytes of data.
    pub(super) fn new(longest: usize) -> Self {
        // `data: ` stands before it.
        let lines = Lines::new(longest.saturating_add(6));
        Self { lines, data: Vec::new(), is_first: true, too_long: None, longest }
    }

    /// Whether the line at hand is so long that its end is not waited for.
    pub(super) fn is_endless(&self) -> bool {
        self.lines.is_endless()
    }

    /// Takes a piece of the stream, and hands over the data of each event that is complete with it.
    pub(super) fn push(&mut self, piece: &[u8], mut take: impl FnMut(Event<'_>)) {
        let Self { lines, data, is_first, too_long, longest } = self;
        lines.room().extend_from_slice(piece);
        lines.take(|line| {
            let line = match line {
                Line::Whole(line) => line.strip_suffix(b"\r").unwrap_or(line),
                Line::TooLong { start, bytes } => {
                    data.clear();
                    data.extend_from_slice(value(start, b"data").unwrap_or_default());
                    *too_long = Some(bytes);
                    return;
                }
            };
            if line.is_empty() {
                match too_long.take() {
                    Some(bytes) => take(Event::TooLong { start: data, bytes }),
                    None if !data.is_empty() => take(Event::Data(data)),
                    None => {}
                }
                data.clear();
                *is_first = true;
                return;
            }
            let Some(value) = value(line, b"data") else { return };
            if let Some(bytes) = too_long {
                *bytes += value.len() as u64;
                return;
            }
            if !*is_first {
                data.push(b'\n');
            }
            *is_first = false;
            if data.len() + value.len() > *longest {
                *too_long = Some((data.len() + value.len()) as u64);
                data.truncate(1024);
                return;
            }
            data.extend_from_slice(value);
        });
    }
}

/// The value of a line `name: value`; `None` for a line of another field.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name)?;
    if rest.is_empty() {
        return Some(rest);
    }
    let rest = rest.strip_prefix(b":")?;
    Some(rest.strip_prefix(b" ").unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, piece: usize, longest: usize) -> Vec<String> {
        let mut events = Events::new(longest);
        let mut res = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            events.push(piece, |it| {
                res.push(match it {
                    Event::Data(data) => String::from_utf8_lossy(data).into_owned(),
                    Event::TooLong { start, bytes } => {
                        format!("{} of {bytes}", String::from_utf8_lossy(start))
                    }
                });
            });
        }
        res
    }

    #[test]
    fn only_data_is_read_and_pieces_do_not_matter() {
        let text = ": ping\n\nid: 1\nevent: message\ndata: {\"a\":\ndata: 1}\n\nretry: 5\ndata:x\r\n\r\ndata\n\ndata: open";
        for piece in [1, 5, 1000] {
            assert_eq!(read(text, piece, 100), ["{\"a\":\n1}", "x"], "{piece}");
        }
    }

    #[test]
    fn an_event_that_is_too_long_costs_only_itself() {
        for piece in [1, 1000] {
            assert_eq!(read("data: 123456\n\ndata: 12345\n\n", piece, 5), ["12345 of 12", "12345"]);
            let parts = read("data: 123\ndata: 45\ndata: 6\n\ndata: b\n\n", piece, 5);
            assert_eq!(parts, ["123\n of 7", "b"]);
        }
    }
}
