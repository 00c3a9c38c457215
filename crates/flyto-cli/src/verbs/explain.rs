//! `explain`: more about the code of a finding.

use flyto_diagnostics::{CodeInfo, closest, quoted};

use crate::args::Explain;
use crate::exit::{Exit, Why};
use crate::screen::look;
use crate::session::Session;
use crate::stop::Stop;

pub(super) fn run(args: &Explain, session: &Session) -> Result<Exit, Stop> {
    let info = find(&args.code)?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(info)?;
    } else {
        let head = format!("{}: {}", info.code, info.title);
        let head = screen.stdout.styled(look::HEAD, head);
        screen.answer(format!("{head}\n\n{}\n", info.explanation.trim_end()))?;
    }
    Ok(Exit::Ok)
}

/// A code may be written in either case, and as it stands in a finding: `error[F0101]`.
fn find(written: &str) -> Result<&'static CodeInfo, Stop> {
    let code = written.rsplit('[').next().unwrap_or_default().trim_end_matches(']');
    let code = code.to_ascii_uppercase();
    all_codes().find(|it| it.code.as_str() == code).ok_or_else(|| {
        let stop = Stop::new(Why::Missing, format!("there is no code {}", quoted(written)));
        match closest(&code, all_codes().map(|it| it.code.as_str())) {
            Some(near) => stop.with_help(format!("did you mean {near}?")),
            None => stop.with_help("a code is the letter F and four digits, such as F0101"),
        }
    })
}

/// The codes of all findings of this program.
fn all_codes() -> impl Iterator<Item = &'static CodeInfo> {
    flyto_host::all_codes().chain(flyto_evolve::codes::CODES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Page;

    #[test]
    fn codes_are_found_as_they_are_written() {
        for written in ["F0401", "f0401", "error[F0401]"] {
            assert_eq!(find(written).unwrap().code.as_str(), "F0401", "{written}");
        }
    }

    #[test]
    fn an_unknown_code_has_a_nearest_one() {
        let Err(Stop::Error(trouble)) = find("F00001") else { panic!("found") };
        let text = trouble.text(Page::default());
        assert!(text.contains("did you mean F0001?"), "{text}");
    }

    #[test]
    fn every_code_is_there_once_and_explained() {
        let mut codes: Vec<_> = all_codes().map(|it| it.code).collect();
        let n_codes = codes.len();
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), n_codes);
        assert!(all_codes().all(|it| it.explanation.len() > 80));
    }
}
