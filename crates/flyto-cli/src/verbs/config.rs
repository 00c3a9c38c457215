//! `config show`: which configuration holds, and where each value comes from.

use flyto_host::ConfigValue;
use serde::Serialize;
use serde_json::Value;

use crate::args::{Config, ConfigShow, ConfigWhat};
use crate::config_values::set_by;
use crate::exit::Exit;
use crate::findings::Drawing;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::Table;
use crate::words::one_line;

#[derive(Serialize)]
struct Document<'a> {
    values: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    key: &'a str,
    value: &'a Value,
    /// A file, `$NAME`, an option, or `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

pub(super) fn run(args: &Config, session: &Session) -> Result<Exit, Stop> {
    let ConfigWhat::Show(ConfigShow { origin, .. }) = &args.what;
    let (config, findings) = session.config(None, &session.surroundings()?)?;
    let values = config.values();
    let screen = session.screen;
    if screen.is_json() {
        let values = values.iter().map(|it| row(it, *origin)).collect();
        screen.document(&Document { values })?;
        return Ok(Exit::Ok);
    }
    let drawing = Drawing::new(screen.stderr);
    for finding in findings.iter().filter(|_| !screen.quiet) {
        screen.complain(format_args!("{}\n\n", drawing.draw(finding)));
    }
    let head: &[&str] = if *origin { &["KEY", "VALUE", "ORIGIN"] } else { &["KEY", "VALUE"] };
    let mut table = Table::new(head.iter().copied());
    for it in &values {
        let cells = [one_line(&it.key), one_line(&it.value.to_string())];
        let place = origin.then(|| one_line(&set_by(it)));
        table.row(cells.into_iter().chain(place));
    }
    screen.answer(table.draw(screen.stdout))?;
    Ok(Exit::Ok)
}

fn row(it: &ConfigValue, with_origin: bool) -> Row<'_> {
    let place = it.place.as_ref().and_then(|it| it.place()).filter(|_| with_origin);
    let origin = it.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
    Row {
        key: &it.key,
        value: &it.value,
        origin: with_origin.then_some(origin),
        line: place.map(|it| it.line),
        column: place.map(|it| it.column),
    }
}
