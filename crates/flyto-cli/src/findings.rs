//! Findings as people read them: with the line they are about and a caret below it.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};
use flyto_diagnostics::{Diagnostic, Location, Severity, Source, Span};

use crate::screen::Page;
use crate::terminal::escaped_offset;
use crate::words::{counted, tame};

/// Columns where no terminal says how many there are.
const WIDTH: usize = 100;
/// A related place this many lines away is drawn by itself, so that what lies between is not shown.
const FAR_LINES: usize = 12;
/// A related place this many bytes away is drawn by itself as well: a manifest may be one line.
const FAR_BYTES: usize = 2_000;
/// Bytes of a text of a finding that are shown, such as a path into a document whose keys are very long.
const SHOWN_BYTES: usize = 4_000;
/// Related places that are shown.
const MOST_PLACES: usize = 8;
/// Bytes around a place that are looked at: a line may be megabytes long, and only what fits the
/// terminal is drawn of it.
const AROUND_BYTES: usize = 400;

/// Draws findings for one of the two streams.
#[derive(Debug)]
pub(crate) struct Drawing {
    renderer: Renderer,
}

impl Drawing {
    pub(crate) fn new(page: Page) -> Self {
        let renderer = if page.color { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        Self { renderer: renderer.term_width(page.width.unwrap_or(WIDTH)) }
    }

    /// One finding, without a line break at the end.
    pub(crate) fn draw(&self, finding: &Diagnostic) -> String {
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            _ => Level::NOTE,
        };
        let title = level.primary_title(shown(&finding.message)).id(finding.code.as_str());
        let mut group = Group::with_title(title);

        let mut near = Vec::new();
        let mut far = Vec::new();
        for related in finding.related.iter().take(MOST_PLACES) {
            if is_near(&finding.location, &related.location) {
                near.push(related);
            } else {
                far.push(related);
            }
        }
        let context = near.iter().filter_map(|it| Some((it.location.span()?, &*it.message)));
        let context: Vec<_> = context.collect();
        group = place(group, &finding.location, AnnotationKind::Primary, &context);
        if let Some(pointer) = finding.pointer.as_ref().map(ToString::to_string)
            && !pointer.is_empty()
        {
            group = group.element(Level::NOTE.with_name("at").message(shown(&pointer)));
        }
        if let Some(reason) = &finding.reason {
            group = group.element(Level::NOTE.message(shown(reason)));
        }
        let fix = finding.suggestion.as_ref().zip(finding.location.source());
        let fix = fix.filter(|(suggestion, _)| suggestion.replacement.len() <= SHOWN_BYTES);
        if let (Some(help), None) = (&finding.help, fix) {
            group = group.element(Level::HELP.message(shown(help)));
        }
        let mut report = vec![group];

        for related in far {
            let title = Level::NOTE.secondary_title(shown(&related.message));
            let group = Group::with_title(title);
            report.push(place(group, &related.location, AnnotationKind::Context, &[]));
        }
        if let Some((suggestion, source)) = fix {
            let title = shown(finding.help.as_deref().unwrap_or("write this"));
            let excerpt = Excerpt::around(source, suggestion.span, []);
            let patch = Patch::new(excerpt.within(suggestion.span), tame(&suggestion.replacement));
            report.push(Level::HELP.secondary_title(title).element(
                Snippet::source(tame(excerpt.text)).line_start(excerpt.first_line).patch(patch),
            ));
        }
        without_file_marks(&self.renderer.render(&report))
    }
}

/// `drawn` without the lines `:::`. The renderer puts one between a place and a part of a line, where
/// it would name a second file.
fn without_file_marks(drawn: &str) -> String {
    // On a terminal, escape sequences stand around the mark. Lines of a file start with their number.
    let is_mark = |line: &str| {
        line.contains(":::") && line.bytes().all(|it| b" :;[m\x1b0123456789".contains(&it))
    };
    drawn.split('\n').filter(|it| !is_mark(it)).collect::<Vec<_>>().join("\n")
}

/// How many there are of each kind: `2 errors, 1 warning`.
pub(crate) fn summary<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let mut counts = [0; 3];
    for finding in findings {
        counts[match finding.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            _ => 2,
        }] += 1;
    }
    let parts = counts.into_iter().zip(["error", "warning", "note"]).filter(|(n, _)| *n > 0);
    let parts: Vec<_> = parts.map(|(n, what)| counted(n, what)).collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

/// Adds a place to a group: the name of the file, and the lines around it with a mark. `context` are
/// further spans of the same lines, each with what is to be said about it.
fn place<'a>(
    group: Group<'a>,
    location: &Location,
    kind: AnnotationKind,
    context: &[(Span, &str)],
) -> Group<'a> {
    let name = tame(location.name());
    let (Some(source), Some(span), Some(place)) =
        (location.source(), location.span(), location.place())
    else {
        return group.element(Origin::path(name));
    };
    let excerpt = Excerpt::around(source, span, context.iter().map(|(span, _)| *span));
    let context = context.iter().map(|(span, message)| {
        AnnotationKind::Context.span(excerpt.within(*span)).label(shown(message))
    });
    let marked = kind.span(excerpt.within(span));
    let snippet = excerpt.snippet().annotation(marked).annotations(context);
    if excerpt.is_whole_lines {
        group.element(snippet.path(name))
    } else {
        // The renderer counts columns from the start of the excerpt, which is not that of the line.
        let origin = Origin::path(name).line(place.line).char_column(place.column);
        group.element(origin).element(snippet)
    }
}

fn is_near(a: &Location, b: &Location) -> bool {
    let lines = |it: &Location| Some((it.place()?.line, it.end_place()?.line));
    let start = |it: &Location| it.span().map_or(0, |span| span.start);
    match (lines(a), lines(b)) {
        (Some((a_start, a_end)), Some((b_start, b_end))) => {
            a.source() == b.source()
                && a_end.max(b_end) - a_start.min(b_start) <= FAR_LINES
                && start(a).abs_diff(start(b)) <= FAR_BYTES
        }
        _ => false,
    }
}

/// A text of a finding, cut where it is too long to be read.
fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(SHOWN_BYTES);
    let cut = if end < text.len() { "…" } else { "" };
    tame(&text[..end]) + cut
}

/// The part of a text that is drawn.
struct Excerpt<'a> {
    text: &'a str,
    /// Offset of `text` in the source.
    start: usize,
    /// Number of its first line.
    first_line: usize,
    /// Whether it begins where a line begins.
    is_whole_lines: bool,
}

impl<'a> Excerpt<'a> {
    /// The lines of `span` and of the spans `near` it, cut where they are too long to be drawn.
    fn around(source: &'a Source, span: Span, near: impl IntoIterator<Item = Span>) -> Self {
        let text = source.text();
        let (mut first, mut last) = (span.start, span.end.min(span.start + AROUND_BYTES));
        for it in near {
            first = first.min(it.start);
            last = last.max(it.end.min(it.start + AROUND_BYTES));
        }
        let start = text.floor_char_boundary(first.saturating_sub(AROUND_BYTES));
        let end = text.ceil_char_boundary((last + AROUND_BYTES).min(text.len()));
        let (first, last) = (text.floor_char_boundary(first), text.ceil_char_boundary(last));
        let start = text[start..first].rfind('\n').map_or(start, |at| start + at + 1);
        let is_whole_lines = start == 0 || text[..start].ends_with('\n');
        let end = text[last..end].find('\n').map_or(end, |at| last + at);
        let first_line = source.place(start).line;
        Self { text: &text[start..end], start, first_line, is_whole_lines }
    }

    fn snippet<'b, T: Clone>(&self) -> Snippet<'b, T> {
        Snippet::source(tame(self.text)).line_start(self.first_line)
    }

    /// `span` as offsets in what is drawn of the excerpt.
    fn within(&self, span: Span) -> Range<usize> {
        let offset = |at: usize| {
            let at = at.saturating_sub(self.start).min(self.text.len());
            escaped_offset(self.text, self.text.floor_char_boundary(at))
        };
        offset(span.start)..offset(span.end)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use flyto_diagnostics::{Code, Pointer, codes};
    use proptest::prelude::*;

    use super::*;

    const CODE: Code = codes::BAD_VALUE;

    fn location(source: &Source, part: &str) -> Location {
        let start = source.text().find(part).unwrap();
        Location::text(source, Span::new(start, start + part.len()))
    }

    #[track_caller]
    fn check(finding: &Diagnostic, expect: Expect) {
        expect.assert_eq(&Drawing::new(Page::default()).draw(finding));
    }

    fn manifest() -> Source {
        Source::new(
            "p/plugin.json",
            "{\n  \"name\": \"p\",\n\t\"comand\": \"ls\",\n  \"timeout\": -3\n}\n",
        )
    }

    #[test]
    fn a_place_has_a_caret() {
        let source = manifest();
        let finding = Diagnostic::error(CODE, location(&source, "-3"), "expected more than 0")
            .with_reason("a call needs time")
            .with_help("leave it out for 30 seconds");
        check(
            &finding,
            expect![[r#"
                error[F0024]: expected more than 0
                 --> p/plugin.json:4:14
                  |
                4 |   "timeout": -3
                  |              ^^
                  |
                  = note: a call needs time
                  = help: leave it out for 30 seconds"#]],
        );
    }

    #[test]
    fn a_suggestion_is_a_line_to_copy() {
        let source = manifest();
        let place = location(&source, "\"comand\"");
        let span = place.span().unwrap();
        let finding = Diagnostic::warning(codes::UNKNOWN_KEY, place, "unknown key \"comand\"")
            .with_suggestion(span, "\"command\"")
            .with_help("did you mean \"command\"?");
        check(
            &finding,
            expect![[r#"
                warning[F0021]: unknown key "comand"
                 --> p/plugin.json:3:2
                  |
                3 |     "comand": "ls",
                  |     ^^^^^^^^
                  |
                help: did you mean "command"?
                  |
                3 |     "command": "ls",
                  |         +"#]],
        );
    }

    #[test]
    fn related_places_are_shown_near_and_far() {
        let source = manifest();
        let other = Source::new("q/plugin.json", "{\"name\": \"p\"}");
        let finding = Diagnostic::error(CODE, location(&source, "\"p\""), "the name is taken")
            .with_related(location(&source, "-3"), "in the same plugin")
            .with_related(location(&other, "\"p\""), "the first plugin of this name");
        check(
            &finding,
            expect![[r#"
                error[F0024]: the name is taken
                 --> p/plugin.json:2:11
                  |
                2 |   "name": "p",
                  |           ^^^
                3 |     "comand": "ls",
                4 |   "timeout": -3
                  |              -- in the same plugin
                  |
                note: the first plugin of this name
                 --> q/plugin.json:1:10
                  |
                1 | {"name": "p"}
                  |          ---"#]],
        );
    }

    #[test]
    fn a_file_as_a_whole_has_no_lines() {
        let finding = Diagnostic::error(CODE, Location::file("p/plugin.json"), "cannot be read");
        check(
            &finding,
            expect![[r#"
            error[F0024]: cannot be read
            --> p/plugin.json"#]],
        );
    }

    #[test]
    fn the_end_of_a_text_can_be_pointed_at() {
        let source = Source::new("f", "{\n");
        let finding =
            Diagnostic::error(CODE, Location::text(&source, Span::empty(2)), "expected a key");
        check(
            &finding,
            expect![[r#"
                error[F0024]: expected a key
                 --> f:2:1
                  |
                2 |
                  | ^"#]],
        );
        let source = Source::new("f", "");
        let finding =
            Diagnostic::error(CODE, Location::text(&source, Span::empty(0)), "it is empty");
        check(
            &finding,
            expect![[r#"
                error[F0024]: it is empty
                 --> f:1:1
                  |
                1 |
                  | ^"#]],
        );
    }

    #[test]
    fn a_line_of_megabytes_is_cut() {
        let text = format!("{}\"here\"{}", "x".repeat(1 << 20), "y".repeat(1 << 20));
        let source = Source::new("f", text);
        let finding = Diagnostic::error(CODE, location(&source, "\"here\""), "wrong");
        check(
            &finding,
            expect![[r#"
            error[F0024]: wrong
             --> f:1:1048577
              |
            1 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"here"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
              |                                              ^^^^^^"#]],
        );
    }

    #[test]
    fn what_lies_between_two_places_of_a_line_is_left_out() {
        let text = format!("{{\"one\": {}, \"two\": 2}}", "x".repeat(1 << 20));
        let source = Source::new("f", text);
        let finding = Diagnostic::error(CODE, location(&source, "\"two\""), "the name is taken")
            .with_related(location(&source, "\"one\""), "it is here first");
        check(
            &finding,
            expect![[r#"
            error[F0024]: the name is taken
             --> f:1:1048587
              |
            1 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, "two": 2}
              |                                              ^^^^^
              |
            note: it is here first
             --> f:1:2
              |
            1 | {"one": xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
              |  -----"#]],
        );
    }

    /// However long what is said and what stands in the file, and however many places there are.
    #[test]
    fn a_finding_has_a_bound() {
        let long = "x\u{1b}".repeat(1 << 19);
        let source = Source::new("f", format!("{long}{long}"));
        for line_breaks in [false, true] {
            let text = source.text().to_owned();
            let text = if line_breaks { text.replace('\u{1b}', "\n") } else { text };
            let source = Source::new("f", text);
            let span = |at: usize, n: usize| Span::new(at * 1500, at * 1500 + n);
            let mut finding =
                Diagnostic::error(CODE, Location::text(&source, span(20, 1 << 20)), &*long)
                    .with_pointer(Pointer::root().join(&long))
                    .with_reason(&*long)
                    .with_help(&*long)
                    .with_suggestion(span(20, 1 << 19), &*long);
            for at in 0..300 {
                finding = finding.with_related(Location::text(&source, span(at, 1 << 20)), &*long);
            }
            let drawn = Drawing::new(Page::default()).draw(&finding);
            assert!(drawn.len() < 200_000, "{} bytes", drawn.len());
        }
    }

    #[test]
    fn a_cut_line_has_no_second_file_in_colour() {
        let source = Source::new("f", format!("{}\"here\"", "x".repeat(1 << 10)));
        let finding = Diagnostic::error(CODE, location(&source, "\"here\""), "a ::: b");
        let drawn = Drawing::new(Page { color: true, ..Page::default() }).draw(&finding);
        assert_eq!(drawn.matches(":::").count(), 1, "{drawn:?}");
    }

    #[test]
    fn nothing_from_a_file_acts_on_the_terminal() {
        let source =
            Source::new("f\u{1b}[2J", "\u{9b}31m\"\u{1b}[31m\u{202e}\u{200b}x\" \u{e0041}");
        let finding = Diagnostic::error(CODE, location(&source, "x"), "a\u{1b}[31m \u{9b}b")
            .with_help("\u{7}");
        let drawn = Drawing::new(Page::default()).draw(&finding);
        assert!(!drawn.contains(|c: char| c.is_control() && c != '\n'), "{drawn:?}");
        assert!(!drawn.contains(['\u{202e}', '\u{200b}', '\u{e0041}']), "{drawn:?}");
    }

    #[test]
    fn findings_are_counted() {
        let at = || Location::file("f");
        let list = [
            Diagnostic::warning(CODE, at(), ""),
            Diagnostic::error(CODE, at(), ""),
            Diagnostic::error(CODE, at(), ""),
        ];
        assert_eq!(summary(&list), "2 errors, 1 warning");
        assert_eq!(summary([]), "no findings");
    }

    proptest! {
        #[test]
        fn any_place_of_any_text_can_be_drawn(
            text in "[a\\n\\t\u{e4}\u{1f980}\"\u{7f}]{0,40}",
            places in proptest::array::uniform4(0usize..50),
            replacement in "[a\\n]{0,3}",
        ) {
            let source = Source::new("f", text.as_str());
            let boundary = |at: usize| text.floor_char_boundary(at);
            let span = |a: usize, b: usize| Span::new(boundary(a.min(b)), boundary(a.max(b)));
            let [a, b, c, d] = places;
            let finding = Diagnostic::error(CODE, Location::text(&source, span(a, b)), "m")
                .with_related(Location::text(&source, span(c, d)), "r")
                .with_suggestion(span(b, c), replacement);
            prop_assert!(Drawing::new(Page::default()).draw(&finding).starts_with("error[F0024]: m"));
        }
    }
}
