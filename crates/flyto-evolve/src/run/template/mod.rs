//! Commands with placeholders: `{{.name}}` becomes the variable of a parameter, quoted for its context.
//!
//! A value is never part of the text that bash reads. [`parse`] reads what of bash's grammar it knows exactly, and
//! refuses the rest where there are placeholders. [`lint`] and [`builtins`] keep every command of such a text to closed rules, by
//! which the bash that reads the text takes a value for the text of one word or quoted string, and never for code. A property
//! test runs texts through bash to show that.
//!
//! What a program makes of its words, its input and its variables is another matter. For those in [`programs`] and the modules
//! beside it there is a lint against mistakes: it refuses what is in no shape that it knows, and no list of programs is
//! ever finished. An author that means to hide code can, as in a script, so a person reads the text and approves it. A text without
//! placeholders is not looked at.
//!
//! Where the code argument of a common program is concerned, the tables refuse what those of template tools in a manifest
//! refuse. They differ on purpose in two points. This text is for bash alone and a person reads it, so operators and
//! compound commands are read and not refused. It runs with the environment of the user, so a value is no file of a script
//! either, and no argument of `make` and of the builtins that load code.

mod builtins;
mod git;
mod interpreters;
mod lint;
mod parse;
mod programs;
mod rendered;
mod runners;
mod seen;
mod word;

use rendered::placeholder_at;
pub(crate) use rendered::{MayBeOption, Piece, Rendered, TemplateFault};

/// The text that bash gets for a command. Its time has a bound: see [`lint`].
pub(crate) fn render(
    text: &str,
    is_parameter: impl Fn(&str) -> bool,
) -> Result<Rendered, TemplateFault> {
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        at += found;
        if placeholder_at(text, at, &is_parameter).is_some() {
            return parse::Parser::new(text, &is_parameter).run();
        }
        at += 1;
    }
    Ok(Rendered { text: text.to_owned(), may_be_options: Vec::new() })
}

#[cfg(test)]
mod tests;
