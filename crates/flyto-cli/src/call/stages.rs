//! The stages that a call went through, for `-vv`.

use flyto_host::stages::StageTime;

use crate::screen::Screen;
use crate::table::facts;
use crate::words::one_line;

/// Says how long each stage took by itself, in the order of the stages. Those that the call did not come to are
/// left out.
pub(super) fn show(stages: &[StageTime], screen: &Screen) {
    let time = |it: &StageTime| format!("{} µs  {}", it.time.as_micros(), one_line(&it.stage));
    let lines: Vec<_> = stages.iter().map(time).collect();
    let widest = lines.iter().map(|it| it.find(' ').unwrap_or(0)).max().unwrap_or(0);
    let aligned = lines.iter().map(|it| {
        let digits = it.find(' ').unwrap_or(0);
        format!("{}{it}", " ".repeat(widest - digits))
    });
    let lines = aligned.collect::<Vec<_>>().join("\n");
    screen.complain(facts(screen.stderr, &[("stages", lines)]));
}
