//! The arguments of a benchmark.

/// Every option: its name, its value as shown to people, what it does.
pub(crate) const ALL: &[(&str, &str, &str)] = &[
    ("--rounds", "N", "how often each variant runs (a benchmark has its own default)"),
    ("--calls", "N", "calls in a run (400)"),
    ("--warm-up", "N", "calls before them (50)"),
    ("--unpinned", "", "leave all CPUs to one call at a time, not one"),
    ("--no-cc", "", "compare with the Rust twin of the C baseline"),
    ("--in-flight", "N,…", "calls at the same time, after the one at a time (8,64,512)"),
    ("--gib", "N,…", "memory that the host has touched, in GiB (0,1,8)"),
    ("--descriptors", "N,…", "descriptors that the host has open (0,1000,10000)"),
    ("--mib", "N", "output in MiB (2048)"),
    ("--kib", "N,…", "sizes of the program in KiB (64,1024,102400)"),
    ("--plugins", "N,…", "plugins in the directory (1000,10000)"),
    ("--tools", "N,…", "tools of each plugin (1,10)"),
];

/// Options of every benchmark; the others belong to one.
const COMMON: &[&str] = &["--rounds", "--calls", "--warm-up", "--unpinned", "--no-cc"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) rounds: Option<usize>,
    pub(crate) calls: usize,
    pub(crate) warm_up: usize,
    pub(crate) unpinned: bool,
    pub(crate) no_cc: bool,
    pub(crate) in_flight: Vec<usize>,
    pub(crate) gib: Vec<usize>,
    pub(crate) descriptors: Vec<usize>,
    pub(crate) mib: usize,
    pub(crate) kib: Vec<usize>,
    pub(crate) plugins: Vec<usize>,
    pub(crate) tools: Vec<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: None,
            calls: 400,
            warm_up: 50,
            unpinned: false,
            no_cc: false,
            in_flight: vec![8, 64, 512],
            gib: vec![0, 1, 8],
            descriptors: vec![0, 1_000, 10_000],
            mib: 2048,
            kib: vec![64, 1024, 100 * 1024],
            plugins: vec![1_000, 10_000],
            tools: vec![1, 10],
        }
    }
}

impl Options {
    /// Reads the arguments of a benchmark that has `own` options beside the common ones.
    pub(crate) fn parse(args: &[String], own: &[&str]) -> Result<Self, String> {
        let mut res = Self::default();
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let name = name.as_str();
            if !COMMON.contains(&name) && !own.contains(&name) {
                return Err(format!("this benchmark has no option `{name}`"));
            }
            let mut value = || args.next().ok_or_else(|| format!("`{name}` needs a value"));
            match name {
                "--rounds" => res.rounds = Some(positive(name, value()?)?),
                "--calls" => res.calls = positive(name, value()?)?,
                "--warm-up" => res.warm_up = number(name, value()?)?,
                "--unpinned" => res.unpinned = true,
                "--no-cc" => res.no_cc = true,
                "--in-flight" => res.in_flight = list(value()?, |it| positive(name, it))?,
                "--gib" => res.gib = list(value()?, |it| number(name, it))?,
                "--descriptors" => res.descriptors = list(value()?, |it| number(name, it))?,
                "--mib" => res.mib = positive(name, value()?)?,
                "--kib" => res.kib = list(value()?, |it| positive(name, it))?,
                "--plugins" => res.plugins = list(value()?, |it| positive(name, it))?,
                "--tools" => res.tools = list(value()?, |it| positive(name, it))?,
                _ => unreachable!("every option that is listed has an arm"),
            }
        }
        Ok(res)
    }
}

fn number(name: &str, text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{name}` needs a number, got `{text}`"))
}

fn positive(name: &str, text: &str) -> Result<usize, String> {
    match number(name, text)? {
        0 => Err(format!("`{name}` needs a number above zero")),
        n => Ok(n),
    }
}

/// Numbers between commas; the empty text is the empty list.
fn list(text: &str, parse: impl Fn(&str) -> Result<usize, String>) -> Result<Vec<usize>, String> {
    text.split(',').filter(|it| !it.is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::{ALL, COMMON, Options};

    #[track_caller]
    fn check(args: &str, expect: Result<Options, &str>) {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        assert_eq!(Options::parse(&args, &["--in-flight", "--gib"]), expect.map_err(Into::into));
    }

    #[test]
    fn options_are_read() {
        check("", Ok(Options::default()));
        check("--rounds 3 --unpinned", {
            Ok(Options { rounds: Some(3), unpinned: true, ..Options::default() })
        });
        check("--in-flight 2,9", Ok(Options { in_flight: vec![2, 9], ..Options::default() }));
        check("--gib 0,", Ok(Options { gib: vec![0], ..Options::default() }));
    }

    #[test]
    fn mistakes_are_told() {
        check("--mib 3", Err("this benchmark has no option `--mib`"));
        check("--rounds", Err("`--rounds` needs a value"));
        check("--rounds many", Err("`--rounds` needs a number, got `many`"));
        check("--in-flight 0", Err("`--in-flight` needs a number above zero"));
    }

    #[test]
    fn every_listed_option_is_read() {
        for (name, value, _) in ALL {
            let mut args = vec![(*name).to_owned()];
            args.extend((!value.is_empty()).then(|| "1".to_owned()));
            assert!(Options::parse(&args, &[name]).is_ok(), "{name}");
        }
        assert!(COMMON.iter().all(|name| ALL.iter().any(|it| it.0 == *name)));
    }
}
