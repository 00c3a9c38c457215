//! The options of `export`.

use super::{Common, Shape, shape};
use clap::Args as Group;

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto --plugins plugins export --as anthropic
  flyto export --as openai text-stats:count time:get_current_time

The tools are those of `flyto list`. The answer is what a request to the API has under \"tools\": an array, and for Gemini
one element of such an array. A tool that the API does not take is left out, and a note on stderr says why.")]
pub(crate) struct Export {
    /// The tools, by id, alias or wire name; without one, all of them
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The API that takes them
    #[arg(long = "as", value_name = "SHAPE", value_parser = shape())]
    pub(crate) shape: Shape,
    #[command(flatten)]
    pub(super) common: Common,
}
