//! Reads a recipe, a small file format, and reports everything that is wrong with it.
//!
//! `cargo run --example recipe FILE` prints one line per finding; with `--json` in front of the
//! file it prints them as JSON.
#![expect(clippy::print_stdout, reason = "an example program talks to its user")]

use std::process::ExitCode;

use flyto_diagnostics::{
    At, Code, CodeInfo, Diagnostic, Findings, ObjectReader, Reported, Source, json,
};

const NOTHING_TO_COOK: Code = Code::new("F9001");

/// What a program shows when it is asked about a code.
const CODES: &[CodeInfo] = &[CodeInfo::new(
    NOTHING_TO_COOK,
    "a recipe without ingredients",
    "A recipe lists at least one ingredient.\n\nWrong:\n\n    []\n\nRight:\n\n    [{\"name\": \"salt\"}]\n",
)];

#[derive(Debug)]
struct Recipe {
    title: String,
    minutes: Option<u64>,
    ingredients: Vec<Ingredient>,
}

#[derive(Debug)]
struct Ingredient {
    name: String,
    amount: Option<f64>,
    unit: Option<Unit>,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Gram,
    Millilitre,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Gram => "g of",
            Self::Millilitre => "ml of",
        }
    }
}

const UNITS: &[(&str, Unit)] = &[("gram", Unit::Gram), ("millilitre", Unit::Millilitre)];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, as_json) = match args.as_slice() {
        [file] => (file, false),
        [flag, file] if flag == "--json" => (file, true),
        _ => {
            println!("usage: recipe [--json] FILE");
            return ExitCode::from(2);
        }
    };
    let mut findings = Findings::new();
    let recipe = load(file, &mut findings);
    let failed = findings.has_errors();
    let list = findings.into_vec();
    if as_json {
        println!("{}", serde_json::json!(list));
    } else {
        list.iter().for_each(print_finding);
        recipe.iter().for_each(print_recipe);
    }
    ExitCode::from(u8::from(failed))
}

fn print_finding(diagnostic: &Diagnostic) {
    println!("{diagnostic}");
    if let Some(help) = &diagnostic.help {
        println!("  help: {help}");
    }
    if let Some(info) = CODES.iter().find(|info| info.code == diagnostic.code) {
        println!("  {}:\n{}", info.title, info.explanation);
    }
}

fn print_recipe(Recipe { title, minutes, ingredients }: &Recipe) {
    println!("{title}, {} minutes", minutes.unwrap_or(30));
    for Ingredient { name, amount, unit } in ingredients {
        println!("- {} {} {name}", amount.unwrap_or(1.0), unit.map_or("of", Unit::name));
    }
}

fn load(file: &str, findings: &mut Findings) -> Result<Recipe, Reported> {
    let bytes = std::fs::read(file).map_err(|err| Diagnostic::unreadable(file, &err));
    let bytes = findings.take(bytes)?;
    let source = findings.take(Source::from_bytes(file, bytes))?;
    let value = findings.take(json::parse(&source))?;
    recipe(At::root(&source, &value), findings)
}

fn recipe(at: At<'_>, findings: &mut Findings) -> Result<Recipe, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    let title = reader.required_string("title");
    let minutes = reader.optional_u64("minutes");
    let list = reader.required_array("ingredients");
    let mut ingredients = Vec::new();
    if let Ok(list) = list {
        if list.items().len() == 0 {
            reader.push(list.error(NOTHING_TO_COOK, "there is nothing to cook"));
        }
        // A bad ingredient has its finding and costs itself only.
        ingredients.extend(list.items().filter_map(|at| ingredient(at, reader.findings()).ok()));
    }
    reader.finish();
    list?;
    Ok(Recipe { title: title?.to_owned(), minutes: minutes?, ingredients })
}

fn ingredient(at: At<'_>, findings: &mut Findings) -> Result<Ingredient, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    reader.also_spelled("amount", "quantity");
    let name = reader.required_string("name");
    let amount = reader.optional_f64("amount");
    let unit = reader.optional_one_of("unit", UNITS);
    reader.finish();
    Ok(Ingredient { name: name?.to_owned(), amount: amount?, unit: unit? })
}
