//! Values that would do harm if anything but the program ever read them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{Host, template, uses_shell};

/// How many values one call has.
const N_VALUES: usize = 128;

/// How often so many values are made: 10,240 values in all, for each of the shells and without one.
const N_CALLS: u32 = 80;

/// The places that a placeholder can have in a word, and what the program gets there.
const PLACES: &[(&str, &str, &str)] = &[
    ("{{x}}", "", ""),
    ("\"{{x}}\"", "", ""),
    ("'{{x}}'", "", ""),
    ("--t={{x}}", "--t=", ""),
    ("{{x}}z", "", "z"),
    (r#""a \"{{x}}\\""#, "a \"", "\\"),
    (r#"'$(id) \{{x}} "'"#, "$(id) \\", " \""),
    (r#"\'"{{x}}"'}{9'"#, "'", "}{9"),
];

/// Further places, where a shell is at work around the value.
const SHELL_PLACES: &[(&str, &str, &str)] = &[
    (r#""$(printf '%sx' {{x}})""#, "", "x"),
    (r#"$UNSET{{x}}"${UNSET:-u}""#, "", "u"),
    (r#""$((1 + 1)){{x}}""#, "2", ""),
];

/// A piece of a value.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "'",
        "\"",
        "\\",
        "`",
        "$",
        "$(touch /tmp/owned)",
        "`id`",
        "\n",
        "\r\n",
        "\t",
        " ",
        "{{v1}}",
        "{{x}}",
        "{{",
        "}}",
        "-rf",
        "--",
        "-",
        "*",
        "?",
        "[a-z]",
        "~",
        "~root",
        "$1",
        "${1}",
        "$@",
        "${0}",
        "\"$1\"",
        "; id;",
        "| id",
        "&& id",
        "& id &",
        "> /tmp/owned",
        "<(id)",
        "#",
        "!",
        "!!",
        "%s",
        "%n",
        "\\0",
        "\\n",
        "\\c",
        "a=b",
        "=",
        "''",
        "\"\"",
        "'\\''",
        "\u{1}",
        "\u{7f}",
        "\u{1b}[2J",
        "\u{85}",
        "\u{a0}",
        "\u{feff}",
        "\u{202e}",
        "ü",
        "字",
        "🦀",
        "e\u{301}",
        "$'\\x41'",
        "$((1+1))",
        "/etc/passwd",
        "eval",
        "\u{2028}",
        "IFS=x",
    ];
    prop_oneof![
        8 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        2 => "[^\\x00]{0,8}",
        1 => "[a-z]{1,4}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        60 => proptest::collection::vec(piece(), 0..6).prop_map(|it| it.concat()),
        1 => piece().prop_map(|it| it.repeat(500)),
    ]
}

/// Runs one program that prints what it gets, and compares that byte for byte.
async fn check(host: &Host, places: &[(&str, &str, &str)], more: &str, values: &[String]) {
    let mut command = r"printf '%s\0'".to_owned();
    let (mut properties, mut input, mut expected) = (Map::new(), Map::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        let name = format!("v{index}");
        let (place, before, after) = places[index % places.len()];
        command += &format!(" {}", place.replace("{{x}}", &format!("{{{{{name}}}}}")));
        expected.push(format!("{before}{value}{after}"));
        properties.insert(name.clone(), json!({ "type": "string", "x-flyto-dash": true }));
        input.insert(name, value.clone().into());
    }
    command += more;
    let def = template(&command, properties.into());
    assert_eq!(uses_shell(&def), !more.is_empty(), "{command}");
    let res = host.call(def, Value::Object(input)).await;
    assert!(!res.is_error(), "{}", res.output);
    let got: Vec<&str> = res.output.split_terminator('\0').collect();
    assert_eq!(got, expected);
}

/// Every value in half of the places without a shell, and in one with each shell.
async fn check_all(hosts: &[Host], values: Vec<String>) {
    let shell_places: Vec<_> = PLACES.iter().chain(SHELL_PLACES).copied().collect();
    for shift in (0..PLACES.len()).step_by(2) {
        check(&hosts[0], &rotated(PLACES, shift), "", &values).await;
    }
    for host in hosts {
        check(host, &shell_places, " 2>&1", &values).await;
    }
}

fn rotated<T: Copy>(items: &[T], by: usize) -> Vec<T> {
    items[by..].iter().chain(&items[..by]).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(N_CALLS))]

    #[test]
    fn values_arrive_byte_for_byte(
        values in proptest::collection::vec(value(), N_VALUES)
    ) {
        let hosts: Vec<_> = ["dash", "bash", "busybox"].into_iter().filter_map(Host::with_shell).collect();
        let hosts = if hosts.is_empty() { vec![Host::new()] } else { hosts };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(check_all(&hosts, values));
    }
}
