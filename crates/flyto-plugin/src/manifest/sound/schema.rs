//! A schema in which nothing is wrong, and of which the shape of its keywords tells that it compiles.
//!
//! Which value a keyword takes is the table of the whole reading ([`schema`](super::super::schema)).

use flyto_diagnostics::{Span, json::Scanner};
use smallvec::SmallVec;

use super::super::{
    pattern,
    schema::{LARGE_BYTES, MOST_WEIGHT, TYPES, Takes, leaves_doubt, takes},
};

/// The most keys of one object, each of which is compared with those before it.
const MOST_KEYS: usize = 64;

/// A few names that stand in the text.
type Names<'s> = SmallVec<[&'s str; 8]>;

/// What a tool needs to know of its schema.
pub(super) struct Shape<'s> {
    /// Where it stands.
    pub(super) span: Span,
    /// The names of the properties of the root, in the order of the text.
    pub(super) properties: Names<'s>,
    /// Whether a property that must be there has a default for when it is not.
    pub(super) requires_defaults: bool,
}

impl<'s> Shape<'s> {
    /// Reads the schema that comes next, of which the root is an object.
    pub(super) fn read(scanner: &mut Scanner<'s>) -> Option<Self> {
        let start = scanner.offset();
        let (mut properties, mut with_default) = (Names::new(), Names::new());
        let mut required = Names::new();
        let mut walk = Walk { weight: 0, keys: SmallVec::new() };
        let mut is_object = false;
        walk.object(scanner, |walk, scanner, key| match key {
            "type" => {
                is_object = scanner.plain_string()? == "object";
                Some(())
            }
            "properties" => walk.object(scanner, |walk, scanner, name| {
                properties.push(name);
                walk.property(scanner, || with_default.push(name))
            }),
            "required" => scanner.array(|scanner| unique(&mut required, scanner)),
            "$schema" => scanner.plain_string()?.contains("2020-12").then_some(()),
            _ => walk.keyword(scanner, key),
        })?;
        let span = Span::new(start, scanner.offset());
        let requires_defaults = required.iter().any(|it| with_default.contains(it));
        let is_small = span.end - span.start <= LARGE_BYTES;
        (is_object && is_small).then_some(Self { span, properties, requires_defaults })
    }
}

/// Reads a string that is none of those before it.
fn unique<'s>(before: &mut Names<'s>, scanner: &mut Scanner<'s>) -> Option<()> {
    let name = scanner.plain_string()?;
    if before.len() == MOST_KEYS || before.contains(&name) {
        return None;
    }
    before.push(name);
    Some(())
}

/// One walk over one schema.
struct Walk<'s> {
    /// What the patterns so far weigh.
    weight: usize,
    /// The keys so far of all objects that are open, innermost last.
    keys: SmallVec<[&'s str; 32]>,
}

impl<'s> Walk<'s> {
    /// Reads an object in which no key occurs twice.
    #[inline]
    fn object(
        &mut self,
        scanner: &mut Scanner<'s>,
        mut member: impl FnMut(&mut Self, &mut Scanner<'s>, &'s str) -> Option<()>,
    ) -> Option<()> {
        let first = self.keys.len();
        scanner.object(|scanner, key| {
            let before = &self.keys[first..];
            if before.len() == MOST_KEYS || before.contains(&key) {
                return None;
            }
            self.keys.push(key);
            member(self, scanner, key)
        })?;
        self.keys.truncate(first);
        Some(())
    }

    /// Any schema below the root.
    fn schema(&mut self, scanner: &mut Scanner<'s>) -> Option<()> {
        self.property(scanner, || {})
    }

    /// The same; `has_default` is called where the schema has a default.
    fn property(&mut self, scanner: &mut Scanner<'s>, mut has_default: impl FnMut()) -> Option<()> {
        if scanner.first_byte()? != b'{' {
            return scanner.boolean().map(drop);
        }
        self.object(scanner, |walk, scanner, key| {
            if key == "default" {
                has_default();
            }
            walk.keyword(scanner, key)
        })
    }

    /// The value of one keyword, or of an annotation.
    fn keyword(&mut self, scanner: &mut Scanner<'s>, key: &str) -> Option<()> {
        match takes(key) {
            Some(Takes::Type) => match scanner.first_byte()? {
                b'[' => {
                    let mut types = Names::new();
                    scanner.array(|scanner| unique(&mut types, scanner))?;
                    (!types.is_empty() && types.iter().all(|it| TYPES.contains(it))).then_some(())
                }
                _ => scanner.plain_string().filter(|it| TYPES.contains(it)).map(drop),
            },
            Some(Takes::Text) if key == "pattern" => {
                self.weight += pattern::plain_weight(&scanner.string()?)?;
                (self.weight < MOST_WEIGHT).then_some(())
            }
            // Another dialect is for a compiler.
            Some(Takes::Text) if key == "$schema" || leaves_doubt(key) => None,
            Some(Takes::Text) => scanner.string().map(drop),
            Some(Takes::Schema | Takes::SchemaMap) if leaves_doubt(key) => None,
            Some(Takes::Schema) => self.schema(scanner),
            Some(Takes::SchemaMap) => self.object(scanner, |walk, scanner, _| walk.schema(scanner)),
            Some(Takes::SchemaList) => {
                let mut n_items = 0;
                scanner.array(|scanner| {
                    n_items += 1;
                    self.schema(scanner)
                })?;
                (n_items > 0).then_some(())
            }
            Some(Takes::Names) => {
                let mut names = Names::new();
                scanner.array(|scanner| unique(&mut names, scanner))
            }
            Some(Takes::Flag) => scanner.boolean().map(drop),
            Some(Takes::List) => scanner.array(|scanner| self.any(scanner)),
            Some(Takes::Count) => {
                number(scanner).filter(|it| *it >= 0.0 && it.fract() == 0.0).map(drop)
            }
            Some(Takes::Number) => {
                number(scanner).filter(|it| key != "multipleOf" || *it > 0.0).map(drop)
            }
            Some(Takes::Reference | Takes::NamesMap) => None,
            None if leaves_doubt(key) => None,
            None => self.any(scanner),
        }
    }

    /// Any value.
    fn any(&mut self, scanner: &mut Scanner<'s>) -> Option<()> {
        match scanner.first_byte()? {
            b'{' => self.object(scanner, |walk, scanner, _| walk.any(scanner)),
            b'[' => scanner.array(|scanner| self.any(scanner)),
            b'"' => scanner.string().map(drop),
            b't' | b'f' => scanner.boolean().map(drop),
            b'n' => scanner.null(),
            _ => scanner.number().map(drop),
        }
    }
}

fn number(scanner: &mut Scanner<'_>) -> Option<f64> {
    scanner.number()?.parse().ok()
}
