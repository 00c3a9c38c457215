//! Each clause with its case.
//!
//! The table is made at compile time from the list in `clauses.rs`. A row whose function has
//! another name than its clause does not compile.

use super::{
    Case, end, escape, host, isolation, left, limit, network, pinned, run, start, system, usage,
    watcher,
};

/// Makes the table of the rows of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __clause_cases {
    ({} start { $($start:tt)* } run { $($run:tt)* } end { $($end:tt)* }) => {
        $crate::__clause_cases! { $($start)* $($run)* $($end)* }
    };
    ($($name:literal = $module:ident::$test:ident $(($alone:ident))?, $about:literal;)+) => {
        &[$(Case {
            name: named($name, stringify!($test)),
            about: $about,
            test: |ctx| Box::pin($module::$test(ctx)),
            alone: is_marked(&[$(stringify!($alone))?]),
        }),+]
    };
}

/// Every clause, in the order of the contract.
pub const CASES: &[Case] = crate::__clauses!(__clause_cases);

/// The name of a clause; that of its test is the same with underscores.
const fn named(name: &'static str, test: &str) -> &'static str {
    let (name_bytes, test) = (name.as_bytes(), test.as_bytes());
    assert!(name_bytes.len() == test.len(), "a test has another name than its clause");
    let mut at = 0;
    while at < test.len() {
        let expected = if name_bytes[at] == b'-' { b'_' } else { name_bytes[at] };
        assert!(test[at] == expected, "a test has another name than its clause");
        at += 1;
    }
    name
}

/// Whether a row has a mark at all; `alone` is the only one.
const fn is_marked(marks: &[&str]) -> bool {
    !marks.is_empty()
}
