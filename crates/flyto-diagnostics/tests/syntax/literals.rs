//! Strings, keys, words and numbers.

use expect_test::expect;

use super::check;

#[test]
fn quotes() {
    check(
        "{'a': 1}",
        expect![[r#"
        f:1:2: error[F0008]: a key begins with `'` instead of a double quote
        help: put strings and keys between double quotes, `"`
        suggested: "{\"a\": 1}" -> JSON
    "#]],
    );
    check(
        "['it\\'s \"so\"']",
        expect![[r#"
        f:1:2: error[F0008]: a string begins with `'` instead of a double quote
        help: put strings and keys between double quotes, `"`
        suggested: "[\"it's \\\"so\\\"\"]" -> JSON
    "#]],
    );
    check(
        "['a\n']",
        expect![[r#"
        f:1:2: error[F0008]: a string begins with `'` instead of a double quote
        help: put strings and keys between double quotes, `"`
    "#]],
    );
    check(
        "[“a”]",
        expect![[r#"
        f:1:2: error[F0008]: a string begins with `“` instead of a double quote
        help: put strings and keys between double quotes, `"`
        suggested: "[\"a\"]" -> JSON
    "#]],
    );
    check(
        "[`a`]",
        expect![[r#"
        f:1:2: error[F0008]: a string begins with ``` instead of a double quote
        help: put strings and keys between double quotes, `"`
        suggested: "[\"a\"]" -> JSON
    "#]],
    );
    check(
        "{name: 1}",
        expect![[r#"
        f:1:2: error[F0008]: the key "name" has no double quotes
        help: put keys between double quotes
        suggested: "{\"name\": 1}" -> JSON
    "#]],
    );
    check(
        "{work-dir: 1}",
        expect![[r#"
        f:1:2: error[F0008]: the key "work-dir" has no double quotes
        help: put keys between double quotes
        suggested: "{\"work-dir\": 1}" -> JSON
    "#]],
    );
    check(
        "{1: 2}",
        expect![[r#"
        f:1:2: error[F0008]: the key "1" has no double quotes
        help: put keys between double quotes
        suggested: "{\"1\": 2}" -> JSON
    "#]],
    );
    check(
        "{\"mode\": fast and loose, \"b\": 1}",
        expect![[r#"
        f:1:10: error[F0008]: the string "fast and loose" has no double quotes
        help: put strings between double quotes
        suggested: "{\"mode\": \"fast and loose\", \"b\": 1}" -> JSON
    "#]],
    );
    check(
        "[größe]",
        expect![[r#"
        f:1:2: error[F0008]: the string "größe" has no double quotes
        help: put strings between double quotes
        suggested: "[\"größe\"]" -> JSON
    "#]],
    );
}

#[test]
fn words() {
    check(
        "[True]",
        expect![[r#"
        f:1:2: error[F0009]: "True" is not a word of JSON
        help: write `true`
        suggested: "[true]" -> JSON
    "#]],
    );
    check(
        "{\"a\": None}",
        expect![[r#"
        f:1:7: error[F0009]: "None" is not a word of JSON
        help: write `null`
        suggested: "{\"a\": null}" -> JSON
    "#]],
    );
    check(
        "[undefined]",
        expect![[r#"
        f:1:2: error[F0009]: "undefined" is not a word of JSON
        help: write `null`
        suggested: "[null]" -> JSON
    "#]],
    );
    check(
        "[ture]",
        expect![[r#"
        f:1:2: error[F0009]: "ture" is not a word of JSON
        help: write `true`
        suggested: "[true]" -> JSON
    "#]],
    );
    check(
        "[nulll]",
        expect![[r#"
        f:1:2: error[F0009]: "nulll" is not a word of JSON
        help: write `null`
        suggested: "[null]" -> JSON
    "#]],
    );
    check(
        "[NaN]",
        expect![[r#"
        f:1:2: error[F0009]: "NaN" is not a word of JSON
        help: leave the value out, or write `null` or a string
    "#]],
    );
    check(
        "[-Infinity]",
        expect![[r#"
        f:1:2: error[F0009]: "-Infinity" is not a number of JSON
        help: leave the value out, or write `null` or a string
    "#]],
    );
    check(
        "yes",
        expect![[r#"
        f:1:1: error[F0008]: the string "yes" has no double quotes
        help: put strings between double quotes
        suggested: "\"yes\"" -> JSON
    "#]],
    );
}

#[test]
fn numbers() {
    check(
        "[007]",
        expect![[r#"
        f:1:2: error[F0010]: "007" is not a number
        help: a number has no leading zeros; write 7
        suggested: "[7]" -> JSON
    "#]],
    );
    check(
        "[-01.50]",
        expect![[r#"
        f:1:2: error[F0010]: "-01.50" is not a number
        help: a number has no leading zeros; write -1.50
        suggested: "[-1.50]" -> JSON
    "#]],
    );
    check(
        "[+1]",
        expect![[r#"
        f:1:2: error[F0010]: "+1" is not a number
        help: a number has no plus sign in front; write 1
        suggested: "[1]" -> JSON
    "#]],
    );
    check(
        "[.5]",
        expect![[r#"
        f:1:2: error[F0010]: ".5" is not a number
        help: a digit stands before the point; write 0.5
        suggested: "[0.5]" -> JSON
    "#]],
    );
    check(
        "[-.5e3]",
        expect![[r#"
        f:1:2: error[F0010]: "-.5e3" is not a number
        help: a digit stands before the point; write -0.5e3
        suggested: "[-0.5e3]" -> JSON
    "#]],
    );
    check(
        "[5.]",
        expect![[r#"
        f:1:2: error[F0010]: "5." is not a number
        help: a digit stands behind the point; write 5.0
        suggested: "[5.0]" -> JSON
    "#]],
    );
    check(
        "[1.e3]",
        expect![[r#"
        f:1:2: error[F0010]: "1.e3" is not a number
        help: a digit stands behind the point; write 1.0e3
        suggested: "[1.0e3]" -> JSON
    "#]],
    );
    check(
        "[0x1F]",
        expect![[r#"
        f:1:2: error[F0010]: "0x1F" is not a number
        help: numbers are decimal; write 31
        suggested: "[31]" -> JSON
    "#]],
    );
    check(
        "[1_000]",
        expect![[r#"
        f:1:2: error[F0010]: "1_000" is not a number
        help: a number has no separators between digits; write 1000
        suggested: "[1000]" -> JSON
    "#]],
    );
    check(
        "[1e]",
        expect![[r#"
            f:1:2: error[F0010]: "1e" is not a number
            help: a number has no unit; write the number alone, or a string
        "#]],
    );
    check(
        "[-]",
        expect![[r#"
        f:1:2: error[F0010]: "-" is not a number
        help: a number has digits, and may have a minus sign, a fraction, an exponent
    "#]],
    );
    check(
        "[+]",
        expect![[r#"
        f:1:2: error[F0005]: expected a value or `]`, found `+`
    "#]],
    );
    check(
        "[30s]",
        expect![[r#"
            f:1:2: error[F0010]: "30s" is not a number
            help: a number has no unit; write the number alone, or a string
        "#]],
    );
    check(
        "[1.2.3]",
        expect![[r#"
        f:1:2: error[F0010]: "1.2.3" is not a number
        help: put text such as a date or a version between double quotes
        suggested: "[\"1.2.3\"]" -> JSON
    "#]],
    );
    check(
        "[2024-01-31]",
        expect![[r#"
        f:1:2: error[F0010]: "2024-01-31" is not a number
        help: put text such as a date or a version between double quotes
        suggested: "[\"2024-01-31\"]" -> JSON
    "#]],
    );
    check(
        "[1e999]",
        expect![[r#"
            f:1:2: error[F0010]: the number 1e999 is too large
            help: the size of a number is at most about 1.8e308
        "#]],
    );
    check(
        "[...]",
        expect![[r#"
        f:1:2: error[F0005]: expected a value or `]`, found `.`
    "#]],
    );
}

#[test]
fn strings() {
    check(
        "[\"a\nb\"]",
        expect![[r#"
        f:1:4: error[F0011]: a string runs over the end of its line
        help: close it with `"`; a line break inside a string is written `\n`
        f:1:2: the string begins here
    "#]],
    );
    check(
        "[\"a\tb\"]",
        expect![[r#"
        f:1:4: error[F0011]: a string holds the character U+0009 as it is
        help: write `\t`
        f:1:2: the string begins here
        suggested: "[\"a\\tb\"]" -> JSON
    "#]],
    );
    check(
        "[\"a\u{1b}[31m\"]",
        expect![[r#"
        f:1:4: error[F0011]: a string holds the character U+001B as it is
        help: write `\u001b`
        f:1:2: the string begins here
        suggested: "[\"a\\u001b[31m\"]" -> JSON
    "#]],
    );
    check(
        "[\"a\0\"]",
        expect![[r#"
        f:1:4: error[F0011]: a string holds the character U+0000 as it is
        help: write `\u0000`
        f:1:2: the string begins here
        suggested: "[\"a\\u0000\"]" -> JSON
    "#]],
    );
    check(
        r#"["\d+"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\d` is not an escape
        help: a backslash itself is written `\\`
        suggested: "[\"\\\\d+\"]" -> JSON
    "#]],
    );
    check(
        r#"["C:\Users"]"#,
        expect![[r#"
        f:1:5: error[F0011]: `\U` is not an escape
        help: a backslash itself is written `\\`
        suggested: "[\"C:\\\\Users\"]" -> JSON
    "#]],
    );
    check(
        r#"["it\'s"]"#,
        expect![[r#"
        f:1:5: error[F0011]: `\'` is not an escape
        help: a single quote needs no backslash
        suggested: "[\"it's\"]" -> JSON
    "#]],
    );
    check(
        r#"["\x41"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\x` is not an escape
        help: write `\u0041`
        suggested: "[\"\\u0041\"]" -> JSON
    "#]],
    );
    check(
        r#"["\u12"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\u12` is not a whole escape
        help: `\u` is followed by four hexadecimal digits, as in `\u00e9`
    "#]],
    );
    check(
        r#"["\u{41}"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\u` is not a whole escape
        help: `\u` is followed by four hexadecimal digits, as in `\u00e9`
    "#]],
    );
    check(
        r#"["\ud83e"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\ud83e` is half of a surrogate pair
        help: a character above U+FFFF is two escapes, as in `\ud83e\udd80`, or stands for itself
    "#]],
    );
    check(
        r#"["\ud83e\u0041"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\ud83e` is half of a surrogate pair
        help: a character above U+FFFF is two escapes, as in `\ud83e\udd80`, or stands for itself
    "#]],
    );
    check(
        r#"["\udd80"]"#,
        expect![[r#"
        f:1:3: error[F0011]: `\udd80` is half of a surrogate pair
        help: a character above U+FFFF is two escapes, as in `\ud83e\udd80`, or stands for itself
    "#]],
    );
    check(
        "[\"a\\\nb\"]",
        expect![[r#"
        f:1:4: error[F0011]: a string runs over the end of its line
        help: a line break inside a string is written `\n`
    "#]],
    );
    check(
        "[\"\\ü\"]",
        expect![[r#"
        f:1:3: error[F0011]: `\ü` is not an escape
        help: a backslash itself is written `\\`
        suggested: "[\"\\\\ü\"]" -> JSON
    "#]],
    );
}
