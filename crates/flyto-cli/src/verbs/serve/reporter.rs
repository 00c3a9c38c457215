//! What the operator is told of calls that are served.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use flyto_host::not_ready;
use flyto_host::stages::{Call, Next, Stage, StageResult};

use crate::call::report::execution_facts;
use crate::findings::Drawing;
use crate::screen::Screen;
use crate::table::facts;
use crate::words::one_line;

/// How many findings are remembered, so that each is told once: 1,000. Those beyond are told again.
const MAX_TOLD: usize = 1000;

/// Tells on stderr of a tool that says `ready` and cannot be kept ready, once for each reason. With `--verbose`
/// it also tells how each call was carried out.
#[derive(Debug)]
pub(super) struct CallReporter {
    screen: Screen,
    findings: Mutex<HashSet<(String, Option<String>)>>,
}

impl CallReporter {
    pub(super) fn new(screen: Screen) -> Self {
        Self { screen, findings: Mutex::default() }
    }

    fn tell(&self, call: &Call) {
        let Some(execution) = call.result().and_then(|it| it.execution.as_ref()) else { return };
        let name = call.entry().id().as_str();
        if self.screen.verbose {
            let mut rows = vec![("tool", one_line(name))];
            rows.extend(execution_facts(execution, None));
            self.screen.complain(facts(self.screen.stderr, &rows));
        }
        let Some(finding) = not_ready(call.entry(), execution) else { return };
        let mut told = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new =
            told.len() >= MAX_TOLD || told.insert((name.to_owned(), finding.reason.clone()));
        if is_new && !self.screen.quiet {
            let drawing = Drawing::new(self.screen.stderr);
            self.screen.complain(format_args!("{}\n", drawing.draw(&finding)));
        }
    }
}

#[async_trait]
impl Stage for CallReporter {
    fn name(&self) -> &str {
        "call_reporter"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        self.tell(call);
        next.run(call).await
    }
}
