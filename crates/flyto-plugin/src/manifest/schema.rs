//! Schemas of input and output.
//!
//! A schema is checked here against the shape of its keywords, which costs microseconds and knows
//! the place of a mistake. A schema of which that does not tell whether it compiles (one with intricate
//! patterns, references or another dialect, or a large one) is compiled as well, within a bound of work
//! for each manifest. Where a manifest is checked in full, all are.
//!
//! Both checks have bounds: [`MOST_FINDINGS`] findings for one schema, [`LARGE_BYTES`] of text
//! before a schema counts as large, and about a second of compiling for one manifest at
//! [`Depth::Quick`]. The walk recurses once for each level of the text, of which the parser lets
//! 128 pass.

use std::collections::HashSet;

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, Span, closest, quoted};
use flyto_tools::export::{Format, check_output, refused_keyword};
use serde_json::Value;

use super::{lazy::Schema, pattern, place::Place};
use crate::{codes, options::Depth};

/// What a keyword of JSON Schema 2020-12 takes.
///
/// One variant for each shape of value; [`takes`] goes from a keyword to its shape.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Takes {
    /// A schema: an object or a truth value.
    Schema,
    /// An object of schemas, such as `properties`.
    SchemaMap,
    /// An array of schemas with one item at least, such as `anyOf`.
    SchemaList,
    /// A string.
    Text,
    /// A whole number, 0 or above.
    Count,
    /// A number; of `multipleOf` one above zero.
    Number,
    /// A truth value.
    Flag,
    /// An array of anything, such as `enum`.
    List,
    /// An array of strings, such as `required`.
    Names,
    /// An object of such arrays.
    NamesMap,
    /// One of [`TYPES`], or an array of them that is not empty.
    Type,
    /// A string that names another part of the schema.
    Reference,
}

/// The types of JSON Schema 2020-12 (validation, section 6.1.1).
pub(super) const TYPES: [&str; 7] =
    ["object", "array", "string", "integer", "number", "boolean", "null"];

/// The most findings about one schema: one that is wrong throughout says so in the first few.
const MOST_FINDINGS: usize = 8;

/// Reads the schema under `key`; `None` where there is none.
/// `null` counts as none. No object in the schema may have a key twice.
///
/// # Errors
///
/// [`Reported`] when it is no object, has a root of another type, or cannot be used. A root
/// without a type is a warning.
pub(super) fn read(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    place: Place<'_>,
) -> Result<Option<Schema>, Reported> {
    let at = reader.optional(key)?;
    let Some(at) = at.filter(|it| !it.value().is_null()) else { return Ok(None) };
    at.refuse_duplicate_keys(reader.findings())?;
    check_root(at, key, reader.findings())?;
    let doubt = check_keywords(at, key, reader.findings())?;
    let schema = Schema::at(at);
    compile(at, key, &schema, doubt, place, reader.findings())?;
    check_portable(at, key, &schema, place, reader.findings());
    Ok(Some(schema))
}

/// Reads the schema under `key`, whose root names no type, as what `typed` makes of it.
/// The shape is checked in the text, so that findings have a place; what compiles is the value
/// that `typed` made. For `parameters`, whose root may leave out what a schema of an input
/// needs.
///
/// # Errors
///
/// As for [`read`], but for the type of the root, which the caller has looked at.
pub(super) fn read_untyped(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    place: Place<'_>,
    typed: impl FnOnce(&Value) -> Value,
) -> Result<Schema, Reported> {
    let at = reader.required(key)?;
    at.refuse_duplicate_keys(reader.findings())?;
    let doubt = check_keywords(at, key, reader.findings())?;
    let schema = Schema::from(typed(&at.value().to_json()));
    compile(at, key, &schema, doubt, place, reader.findings())?;
    check_portable(at, key, &schema, place, reader.findings());
    Ok(schema)
}

/// Whether the shape of the keywords tells that a schema compiles.
#[derive(Clone, Copy, PartialEq)]
enum Doubt {
    /// It compiles, as far as the table of keywords tells.
    Settled,
    /// Only compiling tells.
    Open,
}

/// The most that the plain patterns of one schema may weigh together. It is far below the bounds of a
/// compiler, in states and in the number of patterns.
pub(super) const MOST_WEIGHT: usize = 20_000;

/// Bytes of a schema that may hold too many values.
/// A compiler bounds the values of a schema, and a shape does not show their number. 64 KiB
/// holds any schema that is written by hand.
pub(super) const LARGE_BYTES: usize = 64 << 10;

/// Walks over the whole schema. A dialect other than 2020-12 is not walked, and leaves a doubt.
///
/// # Errors
///
/// [`Reported`] when a keyword has a value of another shape.
fn check_keywords(at: At<'_>, key: &str, findings: &mut Findings) -> Result<Doubt, Reported> {
    // Earlier drafts give some keywords another shape; only a compiler knows them all.
    let dialect = at.member("$schema").and_then(|it| it.value().as_str());
    if dialect.is_some_and(|it| !it.contains("2020-12")) {
        return Ok(Doubt::Open);
    }
    let span = at.span();
    let doubt = if span.end - span.start > LARGE_BYTES { Doubt::Open } else { Doubt::Settled };
    let mut walk = Walk { root: at, key, findings, n_findings: 0, failed: None, doubt, weight: 0 };
    walk.object(at);
    walk.failed.map_or(Ok(walk.doubt), Err)
}

/// The root describes an object: a call passes in one, and clients of the Model Context Protocol
/// drop every tool of a server that has one with another root.
/// # Errors
///
/// [`Reported`] when it is no object, or names another type. A type that is missing is a warning
/// with the place to put it.
fn check_root(at: At<'_>, key: &str, findings: &mut Findings) -> Result<(), Reported> {
    let members = at.value().as_object();
    let Some(members) = members else {
        let what =
            format!("{} must be a schema, which is an object, found {}", quoted(key), found(at));
        let diag = at.error(codes::BAD_SCHEMA, what);
        // Without this key, the tool would be no template.
        if key == "parameters" {
            let text = r#"{"type": "object", "properties": {}}"#;
            let diag = diag.with_help(format!("write `{text}` to accept any object"));
            return Err(findings.push(diag.with_suggestion(at.span(), text)));
        }
        let help = "leave the key out to accept any object";
        return Err(findings.push(diag.with_help(help)));
    };
    match at.member("type") {
        Some(kind) if kind.value().as_str() == Some("object") => Ok(()),
        Some(kind) => {
            let what = format!("the root of {} must have the type \"object\"", quoted(key));
            let diag = kind.error(codes::BAD_SCHEMA, what);
            Err(findings.push(match key {
                "output_schema" => diag
                    .with_reason("clients accept nothing but an object as a structured result")
                    .with_help("put the value under a key of an object, such as `result`"),
                _ => diag
                    .with_reason("the input of a call is always an object")
                    .with_suggestion(kind.span(), "\"object\""),
            }))
        }
        None => {
            let inside = Span::empty(at.span().start + 1);
            let comma = if members.is_empty() { "" } else { ", " };
            let what = format!("the root of {} names no type", quoted(key));
            findings.push(
                at.warning(codes::BAD_SCHEMA, what)
                    .with_reason("several clients drop a tool whose schema does not say that it is an object")
                    .with_help("add `\"type\": \"object\"`")
                    .with_suggestion(inside, format!("\"type\": \"object\"{comma}")),
            );
            Ok(())
        }
    }
}

/// Compiles a schema where that is asked for, or where its shape leaves a doubt.
/// The place of the finding is the part of the schema that the compiler names.
///
/// # Errors
///
/// [`Reported`] (`F0119`) when the schema does not compile.
fn compile(
    at: At<'_>,
    key: &str,
    schema: &Schema,
    doubt: Doubt,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<(), Reported> {
    let compiled = match (place.options.depth, doubt) {
        (Depth::Full, _) => flyto_tools::compile(schema.value()).map(drop),
        (Depth::Quick, Doubt::Open) => place.seen.check_schema(schema.value()),
        (Depth::Quick, Doubt::Settled) => Ok(()),
    };
    compiled.map_err(|err| {
        let place = at.at_pointer(&err.pointer).unwrap_or(at);
        let what = format!("{} cannot be used: {}", quoted(key), err.why);
        findings.push(place.error(codes::BAD_SCHEMA, what).with_help(err.kind.help()))
    })
}

/// A warning about a part of a schema that some clients cannot take, where a manifest is checked in full: of an output schema, which
/// is kept from clients for it, and of the root of an input schema.
fn check_portable(
    at: At<'_>,
    key: &str,
    schema: &Schema,
    place: Place<'_>,
    findings: &mut Findings,
) {
    if place.options.depth != Depth::Full {
        return;
    }
    let (part, what, reason) = if key == "output_schema" {
        let Err(err) = check_output(schema.value()) else { return };
        let what = format!("clients are not sent {}: {}", quoted(key), err.why);
        let reason = "one output schema that a client cannot compile costs it all tools";
        (at.at_pointer(&err.pointer), what, reason)
    } else {
        let Some((keyword, formats)) = refused_keyword(schema.value()) else { return };
        let formats: Vec<_> = formats.into_iter().map(Format::as_str).collect();
        let (key, formats) = (quoted(key), formats.join(", "));
        let what = format!("the root of {key} has {keyword:?}, which APIs refuse: {formats}");
        let reason =
            "many clients hand the schema on, and the API refuses the request with all its tools";
        (at.member(keyword), what, reason)
    };
    let diag = part.unwrap_or(at).warning(codes::UNPORTABLE_SCHEMA, what).with_reason(reason);
    findings.push(diag.with_help("`flyto explain F0171` shows what is portable"));
}

/// What a keyword takes whose values have a fixed shape; every other key is an annotation.
/// From the vocabularies of 2020-12, with `definitions` of earlier drafts.
pub(super) fn takes(key: &str) -> Option<Takes> {
    Some(match key {
        "type" => Takes::Type,
        "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => {
            Takes::SchemaMap
        }
        "required" => Takes::Names,
        "description" | "title" | "pattern" | "format" | "$schema" | "$id" | "$anchor"
        | "$dynamicAnchor" | "$dynamicRef" | "$comment" | "contentEncoding"
        | "contentMediaType" => Takes::Text,
        "enum" | "examples" => Takes::List,
        "items"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Takes::Schema,
        "$ref" => Takes::Reference,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Takes::Number
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => Takes::Count,
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => Takes::Flag,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Takes::SchemaList,
        "dependentRequired" => Takes::NamesMap,
        _ => return None,
    })
}

/// Whether only a compiler knows that the value of a keyword can be used.
/// Patterns in names may be no regular expressions, references may lead nowhere or in circles, and the
/// rest changes what names mean. Of the keyword `pattern` the value tells.
pub(super) fn leaves_doubt(key: &str) -> bool {
    matches!(
        key,
        "patternProperties"
            | "$ref"
            | "$dynamicRef"
            | "$id"
            | "$anchor"
            | "$dynamicAnchor"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "$vocabulary"
            | "$recursiveRef"
            | "$recursiveAnchor"
            | "dependencies"
    )
}

/// One walk over one schema.
struct Walk<'v, 'f> {
    /// Where references begin with `#`.
    root: At<'v>,
    /// The key of the tool, for messages.
    key: &'f str,
    findings: &'f mut Findings,
    /// How many there were, also beyond [`MOST_FINDINGS`].
    n_findings: usize,
    /// The last finding; there is one when the schema cannot be used.
    failed: Option<Reported>,
    /// Open once anything was met that only a compiler can judge.
    doubt: Doubt,
    /// What the plain patterns so far weigh.
    weight: usize,
}

impl<'v> Walk<'v, '_> {
    /// Any schema below the root; `true` and `false` are schemas, too.
    fn schema(&mut self, at: At<'v>) {
        if at.value().as_object().is_some() {
            self.object(at);
        } else if at.value().as_bool().is_none() {
            let what = format!("expected a schema, which is an object, found {}", found(at));
            self.push(at.error(codes::BAD_SCHEMA, what));
        }
    }

    /// Each keyword of one schema, in the order of the text. An unknown key is an annotation and
    /// passes.
    fn object(&mut self, at: At<'v>) {
        for (key, value) in at.members() {
            if leaves_doubt(key) {
                self.doubt = Doubt::Open;
            }
            if key == "pattern" {
                self.pattern(value);
            }
            if let Some(takes) = takes(key) {
                self.keyword(key, takes, value);
            }
        }
    }

    /// A pattern leaves a doubt unless it is plain, and all of them together are small.
    fn pattern(&mut self, at: At<'v>) {
        let weight = at.value().as_str().and_then(pattern::plain_weight);
        self.weight = self.weight.saturating_add(weight.unwrap_or(MOST_WEIGHT));
        if self.weight >= MOST_WEIGHT {
            self.doubt = Doubt::Open;
        }
    }

    /// One keyword and its value: goes down into schemas, and reports a value of another shape.
    fn keyword(&mut self, key: &str, takes: Takes, at: At<'v>) {
        // Names in one list differ, which the compiler says.
        if matches!(takes, Takes::Names | Takes::Type) && has_duplicates(at)
            || takes == Takes::NamesMap && at.members().any(|(_, it)| has_duplicates(it))
        {
            self.doubt = Doubt::Open;
        }
        let value = at.value();
        let number = || value.to_json().as_f64();
        let fits = match takes {
            Takes::Schema => {
                if key == "items" && value.as_array().is_some() {
                    let what = "\"items\" is one schema for all items";
                    let help = "a schema for each position goes into \"prefixItems\"";
                    return self.push(at.error(codes::BAD_SCHEMA, what).with_help(help));
                }
                return self.schema(at);
            }
            Takes::SchemaMap if value.as_object().is_some() => {
                return at.members().for_each(|(_, it)| self.schema(it));
            }
            Takes::SchemaList if value.as_array().is_some_and(|it| !it.is_empty()) => {
                return at.items().for_each(|it| self.schema(it));
            }
            Takes::Type => return self.types(at),
            Takes::Reference if value.as_str().is_some() => return self.reference(at),
            Takes::SchemaMap | Takes::SchemaList | Takes::Reference => false,
            Takes::Text => value.as_str().is_some(),
            Takes::Count => number().is_some_and(|it| it >= 0.0 && it.fract() == 0.0),
            Takes::Number => number().is_some_and(|it| key != "multipleOf" || it > 0.0),
            Takes::Flag => value.as_bool().is_some(),
            Takes::List => value.as_array().is_some(),
            Takes::Names => is_names(at),
            Takes::NamesMap => {
                value.as_object().is_some() && at.members().all(|(_, it)| is_names(it))
            }
        };
        if !fits {
            let what = format!("{} must be {}, found {}", quoted(key), takes.name(key), found(at));
            let diag = at.error(codes::BAD_SCHEMA, what);
            self.push(match (takes, value.as_bool()) {
                (Takes::Names, Some(_)) => diag.with_help(
                    "list the names of the properties that must be there, beside \"properties\"",
                ),
                _ => diag,
            });
        }
    }

    /// The value of `type`: one name, or some.
    fn types(&mut self, at: At<'v>) {
        if at.value().as_array().is_none() {
            return self.type_name(at);
        }
        if at.items().len() == 0 {
            self.push(at.error(codes::BAD_SCHEMA, "\"type\" is an empty list, which nothing fits"));
        }
        at.items().for_each(|it| self.type_name(it));
    }

    /// A word from another language has the right one as suggestion; see [`meant`].
    fn type_name(&mut self, at: At<'v>) {
        let name = at.value().as_str();
        if !name.is_some_and(|it| TYPES.contains(&it)) {
            let what = format!("there is no type {}", name.map_or_else(|| found(at), quoted));
            let known: Vec<_> = TYPES.iter().map(|it| quoted(it)).collect();
            let diag = at.error(codes::BAD_SCHEMA, what);
            self.push(match name.and_then(meant) {
                Some(near) => diag
                    .with_help(format!("did you mean {}?", quoted(near)))
                    .with_suggestion(at.span(), quoted(near)),
                None => diag.with_help(format!("the types are {}", known.join(", "))),
            });
        }
    }

    /// A pointer into the schema must lead to something. A pointer with escapes, an anchor, and
    /// any reference in a schema with an `$id` are left to the compiler. Anything outside is an
    /// error.
    fn reference(&mut self, at: At<'v>) {
        let target = at.value().as_str().unwrap_or_default();
        let diag = match target.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.contains('%') => return,
            Some(pointer) if pointer.starts_with('/') => {
                if self.root.at_pointer(pointer).is_some() {
                    return;
                }
                let what = format!("there is nothing at {} in the schema", quoted(target));
                at.error(codes::SCHEMA_REFERENCE, what)
                    .with_help("write there what it stands for, as in `\"$defs\": {\"NAME\": {…}}`")
            }
            // An anchor; the compiler finds it.
            Some(_) => return,
            None if target.starts_with("https://json-schema.org/draft/") || has_id(self.root) => {
                return;
            }
            None => at
                .error(codes::SCHEMA_REFERENCE, format!("the schema refers to {}", quoted(target)))
                .with_reason("a schema is never fetched, neither from the network nor from a file")
                .with_help(format!(
                    "copy it into \"$defs\" of {} and refer to `#/$defs/NAME`",
                    quoted(self.key)
                )),
        };
        self.push(diag);
    }

    /// Records a finding, up to [`MOST_FINDINGS`].
    fn push(&mut self, diagnostic: Diagnostic) {
        self.n_findings += 1;
        if self.n_findings <= MOST_FINDINGS {
            self.failed = Some(self.findings.push(diagnostic));
        }
    }
}

impl Takes {
    /// What a keyword takes, in words that follow "must be".
    fn name(self, key: &str) -> &'static str {
        match self {
            Self::Schema => "a schema",
            Self::SchemaMap => "an object of schemas",
            Self::SchemaList => "an array of schemas that is not empty",
            Self::Text | Self::Reference => "a string",
            Self::Count => "a whole number that is not negative",
            Self::Number if key == "multipleOf" => "a number above zero",
            Self::Number => "a number",
            Self::Flag => "`true` or `false`",
            Self::List => "an array",
            Self::Names => "an array of names",
            Self::NamesMap => "an object of arrays of names",
            Self::Type => "the name of a type",
        }
    }
}

/// Whether it is an array of strings.
fn is_names(at: At<'_>) -> bool {
    at.value().as_array().is_some_and(|it| it.iter().all(|name| name.as_str().is_some()))
}

/// Whether an array has a string twice.
fn has_duplicates(at: At<'_>) -> bool {
    if at.items().len() < 2 {
        return false;
    }
    let mut seen = HashSet::new();
    at.items().filter_map(|it| it.value().as_str()).any(|name| !seen.insert(name))
}

/// The type that was meant: what other languages call it, or a slip of the pen.
fn meant(written: &str) -> Option<&'static str> {
    match written.to_ascii_lowercase().as_str() {
        "str" | "text" => Some("string"),
        "int" | "long" => Some("integer"),
        "float" | "double" | "decimal" => Some("number"),
        "bool" => Some("boolean"),
        "list" | "tuple" => Some("array"),
        "dict" | "map" | "record" => Some("object"),
        "none" | "nil" => Some("null"),
        lower => closest(lower, TYPES),
    }
}

/// Whether a part of the schema has a name of its own, which references may use.
fn has_id(at: At<'_>) -> bool {
    at.member("$id").is_some() || at.members().any(|(_, it)| has_id(it)) || at.items().any(has_id)
}

/// What stands there, for a message.
fn found(at: At<'_>) -> String {
    at.value().describe()
}
