//! How the error of a verb is said, to people and to programs.

use crate::exit::{Ending, Exit};
use crate::findings::Drawing;
use crate::screen::{Page, Screen, look};
use crate::stop::{Stop, Trouble};
use crate::words::tame;

impl Stop {
    /// Says it, and gives the exit code.
    pub(crate) fn report(self, screen: &Screen) -> Exit {
        let trouble = match self {
            Self::Closed => return Exit::Ok,
            Self::Killed(number) => return Exit::of(&Ending::Killed(number)),
            Self::Error(trouble) => trouble,
        };
        match screen.is_json() {
            true => screen.complain_json(&trouble.document()),
            false => screen.complain(trouble.text(screen.stderr)),
        }
        trouble.exit
    }
}

impl Trouble {
    /// The error for people: what was found, what it led to, what to do.
    pub(crate) fn text(&self, page: Page) -> String {
        let mut res = String::new();
        let drawing = Drawing::new(page);
        for finding in &self.findings {
            res.push_str(&format!("{}\n\n", drawing.draw(finding)));
        }
        let error = page.styled(look::ERROR, "error");
        res.push_str(&format!("{error}: {}\n", tame(&self.message)));
        for help in &self.help {
            let name = page.styled(look::HELP, "help");
            res.push_str(&format!("  {name}: {}\n", tame(help)));
        }
        res
    }
}
