//! Documents, brackets, commas, colons and what stands between them.

use expect_test::expect;

use super::check;

#[test]
fn nothing() {
    check(
        "",
        expect![[r#"
        f:1:1: error[F0004]: the file is empty
        help: a JSON document is a value, such as `{}`
    "#]],
    );
    check(
        " \r\n\t",
        expect![[r#"
        f:1:1: error[F0004]: the file is blank
        help: a JSON document is a value, such as `{}`
    "#]],
    );
    check(
        "\u{FEFF}{}",
        expect![[r#"
        f:1:1: error[F0003]: the text begins with a byte order mark
        help: save the file as UTF-8 without a byte order mark (BOM)
        suggested: "{}" -> JSON
    "#]],
    );
}

#[test]
fn comments() {
    check(
        "// head\n{}",
        expect![[r#"
        f:1:1: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "\n{}" -> JSON
    "#]],
    );
    check(
        "{\n  \"a\": 1 // why\n}",
        expect![[r#"
        f:2:10: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "{\n  \"a\": 1 \n}" -> JSON
    "#]],
    );
    check(
        "[1, /* two */ 2]",
        expect![[r#"
        f:1:5: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "[1,  2]" -> JSON
    "#]],
    );
    check(
        "[1, /* two",
        expect![[r#"
        f:1:5: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "[1, " -> f:1:4: error[F0012]: the text ends inside an array
    "#]],
    );
    check(
        "# head\n{}",
        expect![[r#"
        f:1:1: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "\n{}" -> JSON
    "#]],
    );
    check(
        "[1 # one\n]",
        expect![[r#"
        f:1:4: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "[1 \n]" -> JSON
    "#]],
    );
    check(
        "[1] // end",
        expect![[r#"
        f:1:5: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "[1] " -> JSON
    "#]],
    );
    check(
        "{/**/}",
        expect![[r#"
        f:1:2: error[F0006]: JSON has no comments
        help: remove the comment
        suggested: "{}" -> JSON
    "#]],
    );
}

#[test]
fn commas() {
    check(
        "[1, 2,]",
        expect![[r#"
        f:1:6: error[F0007]: a comma behind the last item of an array
        help: remove the comma
        suggested: "[1, 2]" -> JSON
    "#]],
    );
    check(
        "{\"a\": 1,\n}",
        expect![[r#"
        f:1:8: error[F0007]: a comma behind the last member of an object
        help: remove the comma
        suggested: "{\"a\": 1\n}" -> JSON
    "#]],
    );
    check(
        "[,1]",
        expect![[r#"
        f:1:2: error[F0005]: expected a value or `]`, found `,`
        help: remove the comma
        suggested: "[1]" -> JSON
    "#]],
    );
    check(
        "[1,,2]",
        expect![[r#"
        f:1:4: error[F0005]: expected a value after the comma, found `,`
        help: remove the comma
        suggested: "[1,2]" -> JSON
    "#]],
    );
    check(
        "{,}",
        expect![[r#"
        f:1:2: error[F0005]: expected a key in double quotes, found `,`
        help: remove the comma
        suggested: "{}" -> JSON
    "#]],
    );
    check(
        "{\"a\": 1,, \"b\": 2}",
        expect![[r#"
        f:1:9: error[F0005]: expected a key in double quotes, found `,`
        help: remove the comma
        suggested: "{\"a\": 1, \"b\": 2}" -> JSON
    "#]],
    );
    check(
        "[1 2]",
        expect![[r#"
        f:1:4: error[F0005]: expected `,` or `]`, found the number 2
        help: a comma is missing
        suggested: "[1, 2]" -> JSON
    "#]],
    );
    check(
        "[\"a\"\n \"b\"]",
        expect![[r#"
        f:2:2: error[F0005]: expected `,` or `]`, found a string
        help: a comma is missing
        suggested: "[\"a\",\n \"b\"]" -> JSON
    "#]],
    );
    check(
        "{\"a\": 1\n \"b\": 2}",
        expect![[r#"
        f:2:2: error[F0005]: expected `,` or `}`, found a string
        help: a comma is missing
        suggested: "{\"a\": 1,\n \"b\": 2}" -> JSON
    "#]],
    );
    check(
        "{\"a\": 1; \"b\": 2}",
        expect![[r#"
        f:1:8: error[F0005]: expected `,` or `}`, found `;`
        help: write a comma
        suggested: "{\"a\": 1, \"b\": 2}" -> JSON
    "#]],
    );
    check(
        "{\"a\": \"say \"hi\" twice\"}",
        expect![[r#"
        f:1:13: error[F0005]: expected `,` or `}` behind the string, found the word "hi"
        help: a double quote inside a string is written `\"`
    "#]],
    );
}

#[test]
fn colons() {
    check(
        "{\"a\" 1}",
        expect![[r#"
        f:1:6: error[F0005]: expected `:` after the key "a", found the number 1
        help: a colon stands between key and value
        suggested: "{\"a\": 1}" -> JSON
    "#]],
    );
    check(
        "{\"a\" = 1}",
        expect![[r#"
        f:1:6: error[F0005]: expected `:` after the key "a", found `=`
        help: a colon stands between key and value
        suggested: "{\"a\" : 1}" -> JSON
    "#]],
    );
    check(
        "{\"a\" => 1}",
        expect![[r#"
        f:1:6: error[F0005]: expected `:` after the key "a", found `=`
        help: a colon stands between key and value
        suggested: "{\"a\" : 1}" -> JSON
    "#]],
    );
    check(
        "{\"a\", \"b\"}",
        expect![[r#"
        f:1:2: error[F0005]: the key "a" has no value
        help: write `"a": …`
    "#]],
    );
    check(
        "{\"a\"}",
        expect![[r#"
        f:1:2: error[F0005]: the key "a" has no value
        help: write `"a": …`
    "#]],
    );
    check(
        "{\"a\": }",
        expect![[r#"
            f:1:7: error[F0005]: expected a value after the colon, found `}`
            help: write a value, such as `null`
        "#]],
    );
    check(
        "{\"a\": , \"b\": 1}",
        expect![[r#"
            f:1:7: error[F0005]: expected a value after the colon, found `,`
            help: write a value, such as `null`
        "#]],
    );
    check(
        "[\"a\": 1]",
        expect![[r#"
        f:1:5: error[F0005]: expected `,` or `]`, found `:`
        help: members with a key stand in an object, between `{` and `}`
    "#]],
    );
    check(
        "{\"a\" %}",
        expect![[r#"
        f:1:6: error[F0005]: expected `:` after the key "a", found `%`
    "#]],
    );
    check(
        "{\"a\": 1: 2}",
        expect![[r#"
        f:1:8: error[F0005]: expected `,` or `}`, found `:`
    "#]],
    );
}

#[test]
fn what_is_opened_and_not_closed() {
    check(
        "{\"a\": [1, 2\n",
        expect![[r#"
        f:1:12: error[F0012]: the text ends inside an array
        help: close the array with `]`
        f:1:7: the array begins here
        suggested: "{\"a\": [1, 2]}\n" -> JSON
    "#]],
    );
    check(
        "{",
        expect![[r#"
        f:1:2: error[F0012]: the text ends inside an object
        help: close the object with `}`
        f:1:1: the object begins here
    "#]],
    );
    check(
        "[1,",
        expect![[r#"
        f:1:4: error[F0012]: the text ends inside an array
        help: close the array with `]`
        f:1:1: the array begins here
    "#]],
    );
    check(
        "{\"a\"",
        expect![[r#"
        f:1:5: error[F0012]: the text ends inside an object
        help: close the object with `}`
        f:1:1: the object begins here
    "#]],
    );
    check(
        "{\"a\":\n",
        expect![[r#"
        f:1:6: error[F0012]: the text ends inside an object
        help: close the object with `}`
        f:1:1: the object begins here
    "#]],
    );
    check(
        "[\"abc",
        expect![[r#"
        f:1:6: error[F0012]: the text ends inside a string
        help: close the string with `"`
        f:1:2: the string begins here
    "#]],
    );
    check(
        "\"abc\\",
        expect![[r#"
        f:1:6: error[F0012]: the text ends inside a string
        help: close the string with `"`
        f:1:1: the string begins here
    "#]],
    );
    check(
        "{\n  \"name\": \"abc,\n  \"b\": 1\n}",
        expect![[r#"
        f:2:16: error[F0011]: a string runs over the end of its line
        help: close it with `"`; a line break inside a string is written `\n`
        f:2:11: the string begins here
    "#]],
    );
}

#[test]
fn what_closes_something_else() {
    check(
        "[1, 2}",
        expect![[r#"
        f:1:6: error[F0005]: expected `,` or `]`, found `}`
        help: close the array with `]`
        f:1:1: the array begins here
        suggested: "[1, 2]" -> JSON
    "#]],
    );
    check(
        "{\"a\": [1, 2}",
        expect![[r#"
        f:1:12: error[F0005]: expected `,` or `]`, found `}`
        help: close the array with `]` first
        f:1:7: the array begins here
        suggested: "{\"a\": [1, 2]}" -> JSON
    "#]],
    );
    check(
        "[{\"a\": 1]",
        expect![[r#"
        f:1:9: error[F0005]: expected `,` or `}`, found `]`
        help: close the object with `}` first
        f:1:2: the object begins here
        suggested: "[{\"a\": 1}]" -> JSON
    "#]],
    );
    check(
        "[}",
        expect![[r#"
        f:1:2: error[F0005]: expected a value or `]`, found `}`
        help: close the array with `]`
        f:1:1: the array begins here
        suggested: "[]" -> JSON
    "#]],
    );
    check(
        "{]",
        expect![[r#"
        f:1:2: error[F0005]: expected a key in double quotes, found `]`
        help: close the object with `}`
        f:1:1: the object begins here
        suggested: "{}" -> JSON
    "#]],
    );
}

#[test]
fn what_stands_behind_the_end() {
    check(
        "{\"a\": 1} {\"b\": 2}",
        expect![[r#"
        f:1:10: error[F0013]: expected the end of the file, found `{`
        help: a file holds one JSON value; put several into an array, as in `[…, …]`
        f:1:8: the document ends here
    "#]],
    );
    check(
        "{\"a\": 1}}",
        expect![[r#"
        f:1:9: error[F0013]: expected the end of the file, found `}`
        help: remove it; nothing is open that it could close
        f:1:8: the document ends here
        suggested: "{\"a\": 1}" -> JSON
    "#]],
    );
    check(
        "\"a\": 1",
        expect![[r#"
        f:1:4: error[F0013]: expected the end of the file, found `:`
        help: put the members of an object between `{` and `}`
        f:1:3: the document ends here
    "#]],
    );
    check(
        "1, 2",
        expect![[r#"
        f:1:2: error[F0013]: expected the end of the file, found `,`
        help: a file holds one JSON value; put several into an array, as in `[…, …]`
        f:1:1: the document ends here
    "#]],
    );
    check(
        "{}\nx",
        expect![[r#"
        f:2:1: error[F0013]: expected the end of the file, found the word "x"
        help: a file holds one JSON value; put several into an array, as in `[…, …]`
        f:1:2: the document ends here
    "#]],
    );
}

#[test]
fn what_is_in_no_language() {
    check(
        "[%]",
        expect![[r#"
        f:1:2: error[F0005]: expected a value or `]`, found `%`
    "#]],
    );
    check(
        "[1,\u{A0}2]",
        expect![[r#"
        f:1:4: error[F0005]: expected a value after the comma, found the character U+00A0
        help: the white space of JSON is blank, tab and line break; write a blank
        suggested: "[1, 2]" -> JSON
    "#]],
    );
    check(
        "{\u{200B}\"a\": 1}",
        expect![[r#"
        f:1:2: error[F0005]: expected a key in double quotes, found the character U+200B
        help: the white space of JSON is blank, tab and line break; write a blank
        suggested: "{ \"a\": 1}" -> JSON
    "#]],
    );
    check(
        "[\u{1}]",
        expect![[r#"
        f:1:2: error[F0005]: expected a value or `]`, found the character U+0001
    "#]],
    );
    check(
        "/",
        expect![[r#"
        f:1:1: error[F0005]: expected a value, found `/`
    "#]],
    );
    check(
        "}",
        expect![[r#"
        f:1:1: error[F0005]: expected a value, found `}`
    "#]],
    );
}
