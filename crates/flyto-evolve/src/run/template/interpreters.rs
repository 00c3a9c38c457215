//! Interpreters: each is taken in a few exact shapes, and its code is written in the text.
//!
//! A shape is the program, options of a short list without a value, the code, and the values. What is in no shape is refused:
//! a long option, code or a value in the word of its option, a module, the input as the code.
//!
//! | program | options | code | behind it |
//! | --- | --- | --- | --- |
//! | Python, PyPy | `-bBdEIOPqsSuv` | `-c CODE`, `-m json.tool`, a file | arguments only |
//! | Perl | `-alnpwWtTX`, digits, `-i` | `-e CODE`, `-E CODE`, a file | options, up to `--` |
//! | Ruby | `-alnpw` | `-e CODE`, a file | options, up to `--` |
//! | Node | `--no-warnings` | `-e`, `-p`, `-pe`, `--eval`, `--print`, a file | options, up to `--` |
//! | PHP | `-nq` | `-r CODE`, a file | options, up to `--` |
//! | Deno, Bun | `run`, `-A`, `--allow-…` | a file | arguments only |
//! | Elixir, Groovy, Julia, Lua, Rscript | none | a file | arguments only |
//! | awk | `-F TEXT`, `-v NAME=TEXT` | the first operand, `-f FILE` | operands only |
//! | sed | `-nErsuz`, `-i` | the first operand, `-e CODE`, `-f FILE` | options, up to `--` |
//! | jq, yq | flags, `--arg NAME VALUE` | the first operand, `-f FILE` | options, up to `--` |
//!
//! Behind a file everything is an argument.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `sed -n -e p -- {{.x}}` | taken |
//! | `sed -n -e p {{.x}}` | taken; a call is refused whose value begins with a dash |
//! | `sed -n -e p "$f"` | refused: the variable may be `-e CODE`, and nothing looks at it |
//! | `sed -nep {{.x}}` | refused: the code stands in the word of its option |
//! | `sed -i s/a/b/ {{.x}}` | refused: some take the code for a suffix; `-e` is missing |
//! | `awk -f /dev/stdin <<< {{.x}}` | refused: the input would be the code |
//! | `python3 --a b {{.x}}` | refused: whether `b` is a value of the option is not known |

use super::{
    rendered::TemplateFault,
    seen::{Ends, Seen, file_of_code},
    word::{Word, at, fixed, one_word},
};

type Res<T> = Result<T, TemplateFault>;

/// The shapes of an interpreter.
pub(super) struct Interpreter {
    names: &'static [&'static str],
    /// Options of one letter without a value, which may stand together in a word.
    flags: &'static str,
    /// Options of one letter with a fixed value, in the next word or in their own.
    valued: &'static str,
    /// Options of one letter with code in the next word.
    code: &'static str,
    /// Words that are options as well: without a value, and with code in the next word.
    words: &'static [&'static str],
    code_words: &'static [&'static str],
    /// What the first operand is where no option has the code.
    operand: Operand,
    /// Whether options end behind an option with code.
    ends: bool,
    /// Where code finds a value.
    help: Help,
}

#[derive(Clone, Copy, PartialEq)]
enum Operand {
    /// A file of code, behind which everything is an argument.
    File,
    /// Code, behind which options go on.
    Code,
    /// Code, behind which everything is an operand.
    LastCode,
}

#[derive(Clone, Copy)]
enum Help {
    /// As a word behind the code, which the code reads by this.
    Argument(&'static str),
    /// As a variable that the code reads, with these texts around its name.
    Variable(&'static str, &'static str),
    Script,
}

/// An interpreter that runs a file, and has no options here.
const FILE: Interpreter = Interpreter {
    names: &["elixir", "groovy", "julia", "lua", "luajit", "Rscript"],
    flags: "",
    valued: "",
    code: "",
    words: &[],
    code_words: &[],
    operand: Operand::File,
    ends: false,
    help: Help::Script,
};

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy"],
        flags: "bBdEIOPqsSuv",
        code: "c",
        ends: true,
        help: Help::Argument("-c '… sys.argv[1] …'"),
        ..FILE
    },
    Interpreter {
        names: &["perl"],
        flags: "alnpwWtTX0123456789",
        code: "eE",
        words: &["-i"],
        help: Help::Argument("-e '… $ARGV[0] …'"),
        ..FILE
    },
    Interpreter {
        names: &["ruby", "jruby"],
        flags: "alnpw",
        code: "e",
        help: Help::Argument("-e '… ARGV[0] …'"),
        ..FILE
    },
    Interpreter {
        names: &["node", "nodejs"],
        words: &["--no-warnings"],
        code_words: &["-e", "-p", "-pe", "--eval", "--print"],
        help: Help::Argument("-e '… process.argv[1] …'"),
        ..FILE
    },
    Interpreter {
        names: &["php"],
        flags: "nq",
        code: "r",
        help: Help::Argument("-r '… $argv[1] …'"),
        ..FILE
    },
    FILE,
    // The first word says what they do, and is looked at before.
    Interpreter { names: &["bun", "deno"], words: &["-A"], ..FILE },
    Interpreter {
        names: &["awk", "gawk", "mawk", "nawk", "original-awk"],
        valued: "Fv",
        operand: Operand::LastCode,
        help: Help::Variable("'… ENVIRON[\"", "\"] …'"),
        ..FILE
    },
    Interpreter {
        names: &["sed", "gsed"],
        flags: "nErsuz",
        code: "e",
        words: &[
            "--quiet",
            "--silent",
            "--regexp-extended",
            "--null-data",
            "--separate",
            "--posix",
            "--sandbox",
        ],
        operand: Operand::Code,
        ..FILE
    },
];

/// The shapes of the interpreter of that name.
pub(super) fn interpreter(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|it| it.names.contains(&name))
}

impl Interpreter {
    /// Whether its name is a word of the language as well, or its code is mostly one that reads lines.
    pub(super) fn is_filter(&self) -> bool {
        self.operand != Operand::File
    }
}

/// What an interpreter makes of its words.
pub(super) struct Shape {
    pub(super) has_code: bool,
    /// How many words it may read as options, those with code among them.
    pub(super) n_options: usize,
}

/// Looks for the shape of an interpreter in its words.
///
/// # Errors
///
/// The words have none, or their code is not written here.
pub(super) fn shape(name: &str, it: &Interpreter, args: &[Word], seen: &mut Seen) -> Res<Shape> {
    if matches!(name, "perl") {
        opens_no_value(args)?;
    }
    shape_of(name, it, args, seen).map_err(|err| match it.help {
        Help::Argument(code) => err.with_help(|value| {
            format!("hand the value over as an argument, as in `{name} {code} {{{{.{value}}}}}`")
        }),
        Help::Variable(before, after) => err.with_help(|value| {
            let variable = super::super::variables::variable_name(value).unwrap_or_default();
            format!("have the code read the variable, as in `{name} {before}{variable}{after}`")
        }),
        Help::Script => err,
    })
}

fn shape_of(name: &str, it: &Interpreter, args: &[Word], seen: &mut Seen) -> Res<Shape> {
    let place = format!("where `{name}` looks for code");
    let unknown = |word: &Word| at(word, &format!("is no option of `{name}` that is read here"));
    if let [only] = args
        && (matches!(only.fixed(), Some("--version" | "--help" | "-V" | "-h"))
            // Of Python it is `--verbose`, and the code comes from the input.
            || (only.fixed() == Some("-v") && !it.ends))
    {
        return Ok(Shape { has_code: true, n_options: 0 });
    }
    let mut index = 0;
    if matches!(name, "bun" | "deno") {
        // `eval`, `repl` and their kin are no file.
        match args.first() {
            Some(first) if fixed(first, &place)? == "run" => index = 1,
            Some(first) => return Err(at(first, &format!("is not the `run` of `{name}`"))),
            None => return Ok(Shape { has_code: false, n_options: 0 }),
        }
    }
    let (mut has_code, mut after_dashes, mut in_place) = (false, false, false);
    while let Some(word) = args.get(index) {
        index += 1;
        if !after_dashes && word.fixed() == Some("--") {
            after_dashes = true;
            continue;
        }
        if !after_dashes && word.text.starts_with('-') {
            let option = fixed(word, &place)?;
            let Some(letters) = option.strip_prefix('-').filter(|it| !it.is_empty()) else {
                return Err(at(word, "has the input run, which holds the values"));
            };
            let is_allowed = name == "deno" && option.starts_with("--allow-");
            if it.words.contains(&option) || is_allowed {
                continue;
            }
            if it.is_sed() && (letters.starts_with('i') || letters == "-in-place") {
                // Not every `sed` has the suffix of a copy in the word itself.
                in_place |= matches!(letters, "i" | "-in-place");
                continue;
            }
            let end = letters.find(|letter| !it.flags.contains(letter));
            let Some(end) = end.filter(|_| !it.code_words.contains(&option)) else {
                if it.code_words.contains(&option) {
                    let code = args.get(index).ok_or_else(|| unknown(word))?;
                    fixed(code, &place)?;
                    (has_code, index) = (true, index + 1);
                }
                continue;
            };
            let mut rest = letters[end..].chars();
            let letter = rest.next().unwrap_or_default();
            let is_attached = rest.next().is_some();
            if it.valued.contains(letter) && is_attached {
                continue;
            }
            let next = args.get(index).ok_or_else(|| unknown(word))?;
            if it.valued.contains(letter) && !is_attached {
                fixed(next, &place)?;
            } else if it.code.contains(letter) && !is_attached {
                fixed(next, &place)?;
                has_code = true;
                if it.ends {
                    return Ok(Shape { has_code, n_options: index + 1 });
                }
            } else if it.is_filter() && letters == "f" {
                file_of_code(fixed(next, &place)?, next, seen)?;
                has_code = true;
            } else if it.ends && letters == "m" && next.fixed() == Some("json.tool") {
                // It runs nothing, and is the one module that is often run.
                return Ok(Shape { has_code: true, n_options: index + 1 });
            } else {
                return Err(unknown(word));
            }
            index += 1;
        } else if !has_code {
            let code = fixed(word, &place)?;
            if matches!(name, "node" | "nodejs") && matches!(code, "inspect" | "debug") {
                return Err(at(word, "is no file of code"));
            }
            match it.operand {
                Operand::File => {
                    file_of_code(code, word, seen)?;
                    return Ok(Shape { has_code: true, n_options: index });
                }
                Operand::LastCode => return Ok(Shape { has_code: true, n_options: index }),
                Operand::Code if in_place => {
                    let help = "write `-e` in front of the code of `sed -i`".to_owned();
                    let what = "is a suffix and no code for some of them";
                    return Err(TemplateFault { help, ..at(word, what) });
                }
                Operand::Code => has_code = true,
            }
        } else if !after_dashes {
            not_an_option(word)?;
        }
    }
    Ok(Shape { has_code, n_options: args.len() })
}

impl Interpreter {
    fn is_sed(&self) -> bool {
        self.operand == Operand::Code
    }

    /// Whether it reads its code from the input where no word has it.
    pub(super) fn reads_code(&self) -> bool {
        self.operand == Operand::File
    }
}

/// Refuses the name of a file that perl opens by `<>`, which `-n` and `-p` use: a name that ends with `|` is a command then
/// (perlop, "I/O Operators"). Code that has values behind it reads them by `$ARGV[0]`, `@ARGV` and `shift`.
fn opens_no_value(args: &[Word]) -> Res<()> {
    let opens = |it: &Word| {
        let is_flag = |it: char| it.is_ascii_digit() || "alnpwWtTXeEi".contains(it);
        let flags = it.text.strip_prefix('-').filter(|it| it.chars().all(is_flag));
        let mut code = it.text.clone();
        for plain in ["<<>>", "$ARGV[", "@ARGV", "$#ARGV", "<STDIN>"] {
            code = code.replace(plain, "");
        }
        // `-a` implies `-n` (perlrun).
        flags.is_some_and(|it| it.contains(['n', 'p', 'a']))
            || ["<>", "ARGV", "readline", "eof"].iter().any(|it| code.contains(it))
    };
    let value = args.iter().find(|it| it.fixed().is_none());
    match value.filter(|_| args.iter().any(opens)) {
        None => Ok(()),
        Some(word) => {
            let fault =
                at(word, "names a file that perl takes for a command where its name ends with `|`");
            // What is changed in its place cannot come from the input.
            match args.iter().any(|it| it.text.starts_with("-i") || it.text.starts_with("-pi")) {
                true => Err(fault),
                false => {
                    let help = "hand the file over on the input, as in `perl -ne '…' < FILE`";
                    Err(TemplateFault { help: help.to_owned(), ..fault })
                }
            }
        }
    }
}

/// Refuses a word that may be an option, and that nothing looks at before the program does. Of a placeholder the call itself
/// refuses a value that begins with a dash.
pub(super) fn not_an_option(word: &Word) -> Res<()> {
    match word.begins_unseen() {
        true => Err(at(word, "may be an option with code: write `--` in front of it")),
        false => Ok(()),
    }
}

/// `jq` takes values by `--arg`, for which its code has a name, and in the place of files.
///
/// Its first operand is the code, or the file of it where an option says so. `yq` is one of two programs: one has the options
/// of `jq`, the other a command in front of the code.
pub(super) fn jq(name: &str, args: &[Word], seen: &mut Seen) -> Res<()> {
    seen.guard(args, Ends::Dashes, &|_| false);
    #[rustfmt::skip]
    const FLAGS: &[&str] = &[
        "--raw-output", "--compact-output", "--null-input", "--exit-status", "--slurp", "--raw-input", "--sort-keys", "--tab", "--args",
        "--jsonargs", "--join-output", "--ascii-output", "--color-output", "--monochrome-output", "--stream", "--seq", "--unbuffered",
        "--raw-output0", "--version", "--help", "--inplace", "--prettyPrint", "--no-doc", "--no-colors", "--colors",
    ];
    let place = format!("where `{name}` looks for code");
    let help = |err: TemplateFault| {
        err.with_help(|it| format!("name the value, as in `{name} --arg v {{{{.{it}}}}} '… $v …'`"))
    };
    let is_yq = name == "yq";
    let (mut has_code, mut after_dashes) = (false, false);
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if !after_dashes && word.fixed() == Some("--") {
            after_dashes = true;
        } else if !after_dashes && word.text.starts_with('-') && word.text.len() > 1 {
            match fixed(word, &place).map_err(help)? {
                "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => {
                    words.next().map_or(Ok(""), |it| fixed(it, &place))?;
                    words.next().map_or(Ok(()), one_word)?;
                }
                "--indent" | "-L" => _ = words.next().map_or(Ok(""), |it| fixed(it, &place))?,
                "-o" | "-p" | "-I" if is_yq => {
                    words.next().map_or(Ok(""), |it| fixed(it, &place))?;
                }
                option
                    if is_yq && ["-o=", "-p=", "-I="].iter().any(|it| option.starts_with(it)) => {}
                "-f" | "--from-file" if !is_yq && !has_code => {
                    // It is a flag: the file is the first operand, wherever that stands.
                    if let Some(file) = words.next() {
                        let path = fixed(file, &place)?;
                        if path.starts_with('-') && path.len() > 1 {
                            return Err(at(file, "stands between `-f` and its file"));
                        }
                        file_of_code(path, file, seen)?;
                        has_code = true;
                    }
                }
                option if FLAGS.contains(&option) => {}
                option => {
                    let letters = option.strip_prefix('-').unwrap_or_default();
                    let known = if is_yq { "nrjaCMSsceRyYiPNV" } else { "nrjaCMSsceRhV" };
                    if !letters.chars().all(|it| known.contains(it)) {
                        return Err(at(
                            word,
                            &format!("is no option of `{name}` that is read here"),
                        ));
                    }
                }
            }
        } else if !has_code {
            let code = fixed(word, &place).map_err(help)?;
            let is_command = is_yq && matches!(code, "e" | "ea" | "eval" | "eval-all");
            has_code = !is_command;
        } else if !after_dashes {
            not_an_option(word)?;
        }
    }
    Ok(())
}
