//! Servers that a manifest declares.

use std::{fmt::Write as _, time::Duration};

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_execenv::Environment;
use flyto_plugin::{Depth, LoadOptions, Loaded, Transport, load_source};

use crate::{common, plugin_dir};

/// Checks the servers of a manifest that offers nothing else, on a host with a variable `TOKEN`.
#[track_caller]
fn check(servers: &str, expect: Expect) {
    let host: Environment = [("TOKEN", "t"), ("EMPTY", "")].into_iter().collect();
    let text = format!("{{\"name\": \"p\", \"mcpServers\":\n{servers}}}");
    check_text(&text, LoadOptions::new().env(host), &expect);
}

#[track_caller]
fn check_text(text: &str, options: LoadOptions, expect: &Expect) {
    let dir = plugin_dir();
    let Loaded { plugin, findings, .. } =
        load_source(&Source::new("plugin.json", text), dir.path(), &options);
    let mut res = common::show(&findings);
    match plugin {
        None => res += "no plugin\n",
        Some(plugin) => {
            for server in &plugin.manifest().servers {
                let kind = match &server.transport {
                    Transport::Stdio { args, .. } => format!("program, {} args", args.len()),
                    Transport::Http { kind, headers, .. } => {
                        format!("{kind:?}, {} headers", headers.len())
                    }
                    other => format!("{other:?}"),
                };
                let reads: Vec<_> = server.reads().into_iter().collect();
                let ready = if server.is_ready() { "ready" } else { "not ready" };
                writeln!(res, "{}: {kind}, reads {reads:?}, {ready}", server.name)
                    .expect("a string");
            }
        }
    }
    expect.assert_eq(&res.replace(dir.path().to_str().expect("UTF-8"), "DIR"));
}

#[test]
fn what_is_in_order_has_no_finding() {
    check(
        r#"{"a": {"command": "${PLUGIN_ROOT}/server", "args": ["--token", "${TOKEN}", "$$x"],
                "env": {"URL": "${NONE:-http://localhost}", "DATA": "$PLUGIN_DATA"}, "cwd": "sub"},
            "b_1": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "c": {"url": "http://localhost:${EMPTY}80"},
            "d": {"type": "stdio", "command": "./run.sh", "disabled": false}}"#,
        expect![[r#"
            a: program, 3 args, reads ["NONE", "PLUGIN_DATA", "PLUGIN_ROOT", "TOKEN"], ready
            b_1: Streamable, 1 headers, reads ["TOKEN"], ready
            c: Streamable, 0 headers, reads ["EMPTY"], ready
            d: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn a_plugin_may_have_both() {
    check_text(
        r#"{"name": "p", "mcpServers": {"a": {"command": "node"}, "b": "node"},
            "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#,
        LoadOptions::new(),
        &expect![[r#"
            1:61: error[F0023]: the server "b" must be an object, found the string "node"
                at /mcpServers/b
                help: write `{"command": …, "args": […]}`
            a: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn a_bad_server_costs_itself() {
    check(
        r#"{"a b": {"command": "x"},
            "twice": {"command": "x"}, "twice": {"command": "y"},
            "line": {"command": "npx -y @example/server"},
            "array": {"command": ["npx", "-y"]},
            "none": {"args": ["x"]},
            "empty": {"command": " "},
            "both": {"command": "x", "url": "https://example.org"},
            "kind": {"type": "ws", "url": "wss://example.org"},
            "url": {"url": "example.org/mcp"},
            "header": {"url": "https://example.org", "headers": {"A B": "x", "C": "a\nb"}},
            "open": {"command": "x", "args": ["${", "${input:token}"]},
            "env": {"command": "x", "env": {"PLUGIN_ROOT": "/x"}},
            "good": {"command": "x"}}"#,
        expect![[r#"
            2:2: error[F0160]: the name "a b" of a server holds ' '
                at /mcpServers/a b
                help: a name is made of letters, digits, `_` and `-`, a letter or digit first
                "a b" -> "a-b"
            3:40: error[F0020]: the key "twice" occurs twice
                at /mcpServers/twice
                because programs disagree about which one counts, so none is used
                help: remove all but one
                3:13: it is here first
            4:33: error[F0112]: "npx -y @example/server" is a command line, and no program has that name
                at /mcpServers/line/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "npx", "args": ["-y", "@example/server"]`
                "npx -y @example/server" -> "npx", "args": ["-y", "@example/server"]
            5:34: error[F0023]: "command" must be a string, found an array
                at /mcpServers/array/command
                because "command" is one program and "args" are its arguments
                help: write `"command": "npx", "args": ["-y"]`
                ["npx", "-y"] -> "npx", "args": ["-y"]
            6:21: error[F0022]: the key "command" is missing
                at /mcpServers/none
                help: add `"command": "…"`
            7:34: error[F0024]: "command" is empty
                at /mcpServers/empty/command
                help: write the name of a program, or the path of one
            8:38: error[F0026]: "command" and "url" exclude each other
                at /mcpServers/both/url
                because a server is either a program that is started or one that is reached over HTTP
                help: remove one of them
                8:22: "command" is here
            9:30: error[F0024]: "type" must be one of "stdio", "http", "streamable-http", "sse", found the string "ws"
                at /mcpServers/kind/type
                help: write "stdio" or "http" or "streamable-http" or "sse"
            10:28: error[F0163]: "example.org/mcp" is no address of a server
                at /mcpServers/url/url
                help: write an address such as `https://example.org/mcp`
            11:66: error[F0164]: "A B" is no name of a header
                at /mcpServers/header/headers/A B
                help: a name is made of letters, digits and `-`
            11:85: error[F0164]: the value of the header C holds a control character
                at /mcpServers/header/headers/C
                help: remove it
            12:48: error[F0118]: `${` in argument 1 is not closed
                at /mcpServers/open/args/0
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            12:54: error[F0118]: `${input:token}` in argument 2 names no variable
                at /mcpServers/open/args/1
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            13:45: error[F0117]: PLUGIN_ROOT is set by the host
                at /mcpServers/env/env/PLUGIN_ROOT
                help: use ${PLUGIN_ROOT} in the value of another variable, or read it as it is
            good: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn times_of_calls() {
    let text = r#"{"name": "p", "mcpServers": {
        "a": {"command": "x", "timeout_seconds": 600},
        "b": {"command": "x"}
    }}"#;
    let loaded = load_source(&Source::new("plugin.json", text), "/p", &LoadOptions::new());
    let plugin = loaded.plugin.expect("its head is in order");
    let times: Vec<_> = plugin.manifest().servers.iter().map(|it| it.timeout).collect();
    assert_eq!(times, [Some(Duration::from_secs(600)), None]);
    check(
        r#"{"a": {"command": "x", "timeout_seconds": 0}, "b": {"command": "x", "timeout_seconds": "1 min"},
            "c": {"command": "x", "timeout_seconds": 604801}}"#,
        expect![[r#"
            2:43: error[F0024]: a call needs more than 0 s
                at /mcpServers/a/timeout_seconds
                help: write how many seconds one call may take, or leave the key out
            2:88: error[F0023]: "timeout_seconds" must be a whole number of seconds, found the string "1 min"
                at /mcpServers/b/timeout_seconds
                help: write 60
                "1 min" -> 60
            3:54: error[F0024]: "timeout_seconds" is at most 604800 s, found the number 604801
                at /mcpServers/c/timeout_seconds
                help: the unit is seconds, not milliseconds
        "#]],
    );
}

#[test]
fn what_other_programs_write() {
    check(
        r#"{"a": {"command": "x", "environment": {"A": "b"}, "timeout": 60, "alwaysLoad": true},
            "b": {"command": "x", "envs": {"A": "b"}, "autoApprove": [], "disabled": true},
            "c": {"httpUrl": "https://example.org", "type": "http"},
            "d": {"url": "http://example.org/sse", "type": "sse"},
            "e": {"command": "x", "args": ["${env:TOKEN}"]},
            "f": {"command": "x", "env": {"T": "{env:TOKEN}"}, "args": ["--t={env:TOKEN}"]}}"#,
        expect![[r#"
            2:24: warning[F0021]: unknown key "environment"
                at /mcpServers/a/environment
                help: did you mean "env"?
                "environment" -> "env"
            2:51: warning[F0162]: "timeout" of a server has no effect here
                at /mcpServers/a/timeout
                help: write "timeout_seconds": how many seconds one call may take
            2:66: warning[F0162]: "alwaysLoad" of a server has no effect here
                at /mcpServers/a/alwaysLoad
                help: when tools are loaded is the host's to say; remove the key
            3:35: warning[F0021]: unknown key "envs"
                at /mcpServers/b/envs
                help: did you mean "env"?
                "envs" -> "env"
            3:55: warning[F0162]: "autoApprove" of a server has no effect here
                at /mcpServers/b/autoApprove
                help: what may be called without asking is the operator's to say; remove the key
            3:74: warning[F0162]: the server is switched off by "disabled" and left out
                at /mcpServers/b/disabled
                help: remove the key to declare the server, or remove the server
            4:18: error[F0022]: the key "url" is missing
                at /mcpServers/c
                help: add `"url": "…"`
            4:19: warning[F0021]: unknown key "httpUrl"
                at /mcpServers/c/httpUrl
                help: did you mean "url"?
                "httpUrl" -> "url"
            5:26: warning[F0163]: what is sent to "http://example.org/sse" can be read on its way
                at /mcpServers/d/url
                help: write `https://`, unless the server runs on this machine
            5:60: warning[F0162]: "sse" is the older of two ways over HTTP
                at /mcpServers/d/type
                help: write "http" if the server knows the one in use
            6:45: error[F0118]: `${env:TOKEN}` in argument 1 names no variable
                at /mcpServers/e/args/0
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
                ${env:TOKEN} -> ${TOKEN}
            7:78: warning[F0118]: "{env:TOKEN}" stays as it is
                at /mcpServers/f/args/0
                help: a variable of the host is written `${TOKEN}`
                {env:TOKEN} -> ${TOKEN}
            a: program, 0 args, reads [], ready
            d: Sse, 0 headers, reads [], ready
            f: program, 1 args, reads [], ready
        "#]],
    );
}

#[test]
fn a_variable_that_is_not_set_keeps_a_server_from_starting() {
    let servers = r#"{"a": {"command": "x", "args": ["$NONE", "${OTHER}"], "env": {"E": "${NONE}"}},
                      "b": {"command": "${CLAUDE_PLUGIN_ROOT}/server"}, "c": {"command": "x", "args": ["$EMPTY"]}}"#;
    check(
        servers,
        expect![[r#"
            2:7: warning[F0161]: the server "a" needs variables that are not set: NONE (used in args, E), OTHER (used in args)
                at /mcpServers/a
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            3:28: warning[F0161]: the server "b" needs a variable that is not set: CLAUDE_PLUGIN_ROOT (used in command)
                at /mcpServers/b
                because it is not started without them
                help: write `${PLUGIN_ROOT}` in place of `${CLAUDE_PLUGIN_ROOT}`
            a: program, 2 args, reads ["NONE", "OTHER"], not ready
            b: program, 0 args, reads ["CLAUDE_PLUGIN_ROOT"], not ready
            c: program, 1 args, reads ["EMPTY"], ready
        "#]],
    );
    let text = format!("{{\"name\": \"p\", \"mcpServers\":\n{servers}}}");
    // The host is not known.
    check_text(
        &text,
        LoadOptions::new(),
        &expect![[r#"
        a: program, 2 args, reads ["NONE", "OTHER"], ready
        b: program, 0 args, reads ["CLAUDE_PLUGIN_ROOT"], ready
        c: program, 1 args, reads ["EMPTY"], ready
    "#]],
    );
    let full = LoadOptions::new().env(Environment::new()).depth(Depth::Full);
    check_text(
        &text,
        full,
        &expect![[r#"
            2:7: error[F0161]: the server "a" needs variables that are not set: NONE (used in args, E), OTHER (used in args)
                at /mcpServers/a
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            3:28: error[F0161]: the server "b" needs a variable that is not set: CLAUDE_PLUGIN_ROOT (used in command)
                at /mcpServers/b
                because it is not started without them
                help: write `${PLUGIN_ROOT}` in place of `${CLAUDE_PLUGIN_ROOT}`
            3:78: error[F0161]: the server "c" needs a variable that is not set: EMPTY (used in args)
                at /mcpServers/c
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            a: program, 2 args, reads ["NONE", "OTHER"], not ready
            b: program, 0 args, reads ["CLAUDE_PLUGIN_ROOT"], not ready
            c: program, 1 args, reads ["EMPTY"], not ready
        "#]],
    );
}

#[test]
fn a_long_list_of_variables_that_are_not_set_is_counted() {
    let args: Vec<_> = (0..5000).map(|it| format!("\"$N{it:04}\"")).collect();
    let servers = format!(r#"{{"a": {{"command": "x", "args": [{}]}}}}"#, args.join(", "));
    check(
        &servers,
        expect![[r#"
        2:7: warning[F0161]: the server "a" needs variables that are not set: N0000 (used in args), N0001 (used in args), N0002 (used in args), N0003 (used in args), N0004 (used in args), N0005 (used in args), N0006 (used in args), N0007 (used in args), N0008 (used in args), N0009 (used in args) and 4990 more
            at /mcpServers/a
            because it is not started without them
            help: set them for the host, or write a default: `${NAME:-default}`
        a: program, 5000 args, reads ["N0000", "N0001", "N0002", "N0003", "N0004", "N0005", "N0006", "N0007", "N0008", "N0009", "N0010", "N0011", "N0012", "N0013", "N0014", "N0015", "N0016", "N0017", "N0018", "N0019", "N0020", "N0021", "N0022", "N0023", "N0024", "N0025", "N0026", "N0027", "N0028", "N0029", "N0030", "N0031", "N0032", "N0033", "N0034", "N0035", "N0036", "N0037", "N0038", "N0039", "N0040", "N0041", "N0042", "N0043", "N0044", "N0045", "N0046", "N0047", "N0048", "N0049", "N0050", "N0051", "N0052", "N0053", "N0054", "N0055", "N0056", "N0057", "N0058", "N0059", "N0060", "N0061", "N0062", "N0063", "N0064", "N0065", "N0066", "N0067", "N0068", "N0069", "N0070", "N0071", "N0072", "N0073", "N0074", "N0075", "N0076", "N0077", "N0078", "N0079", "N0080", "N0081", "N0082", "N0083", "N0084", "N0085", "N0086", "N0087", "N0088", "N0089", "N0090", "N0091", "N0092", "N0093", "N0094", "N0095", "N0096", "N0097", "N0098", "N0099", "N0100", "N0101", "N0102", "N0103", "N0104", "N0105", "N0106", "N0107", "N0108", "N0109", "N0110", "N0111", "N0112", "N0113", "N0114", "N0115", "N0116", "N0117", "N0118", "N0119", "N0120", "N0121", "N0122", "N0123", "N0124", "N0125", "N0126", "N0127", "N0128", "N0129", "N0130", "N0131", "N0132", "N0133", "N0134", "N0135", "N0136", "N0137", "N0138", "N0139", "N0140", "N0141", "N0142", "N0143", "N0144", "N0145", "N0146", "N0147", "N0148", "N0149", "N0150", "N0151", "N0152", "N0153", "N0154", "N0155", "N0156", "N0157", "N0158", "N0159", "N0160", "N0161", "N0162", "N0163", "N0164", "N0165", "N0166", "N0167", "N0168", "N0169", "N0170", "N0171", "N0172", "N0173", "N0174", "N0175", "N0176", "N0177", "N0178", "N0179", "N0180", "N0181", "N0182", "N0183", "N0184", "N0185", "N0186", "N0187", "N0188", "N0189", "N0190", "N0191", "N0192", "N0193", "N0194", "N0195", "N0196", "N0197", "N0198", "N0199", "N0200", "N0201", "N0202", "N0203", "N0204", "N0205", "N0206", "N0207", "N0208", "N0209", "N0210", "N0211", "N0212", "N0213", "N0214", "N0215", "N0216", "N0217", "N0218", "N0219", "N0220", "N0221", "N0222", "N0223", "N0224", "N0225", "N0226", "N0227", "N0228", "N0229", "N0230", "N0231", "N0232", "N0233", "N0234", "N0235", "N0236", "N0237", "N0238", "N0239", "N0240", "N0241", "N0242", "N0243", "N0244", "N0245", "N0246", "N0247", "N0248", "N0249", "N0250", "N0251", "N0252", "N0253", "N0254", "N0255", "N0256", "N0257", "N0258", "N0259", "N0260", "N0261", "N0262", "N0263", "N0264", "N0265", "N0266", "N0267", "N0268", "N0269", "N0270", "N0271", "N0272", "N0273", "N0274", "N0275", "N0276", "N0277", "N0278", "N0279", "N0280", "N0281", "N0282", "N0283", "N0284", "N0285", "N0286", "N0287", "N0288", "N0289", "N0290", "N0291", "N0292", "N0293", "N0294", "N0295", "N0296", "N0297", "N0298", "N0299", "N0300", "N0301", "N0302", "N0303", "N0304", "N0305", "N0306", "N0307", "N0308", "N0309", "N0310", "N0311", "N0312", "N0313", "N0314", "N0315", "N0316", "N0317", "N0318", "N0319", "N0320", "N0321", "N0322", "N0323", "N0324", "N0325", "N0326", "N0327", "N0328", "N0329", "N0330", "N0331", "N0332", "N0333", "N0334", "N0335", "N0336", "N0337", "N0338", "N0339", "N0340", "N0341", "N0342", "N0343", "N0344", "N0345", "N0346", "N0347", "N0348", "N0349", "N0350", "N0351", "N0352", "N0353", "N0354", "N0355", "N0356", "N0357", "N0358", "N0359", "N0360", "N0361", "N0362", "N0363", "N0364", "N0365", "N0366", "N0367", "N0368", "N0369", "N0370", "N0371", "N0372", "N0373", "N0374", "N0375", "N0376", "N0377", "N0378", "N0379", "N0380", "N0381", "N0382", "N0383", "N0384", "N0385", "N0386", "N0387", "N0388", "N0389", "N0390", "N0391", "N0392", "N0393", "N0394", "N0395", "N0396", "N0397", "N0398", "N0399", "N0400", "N0401", "N0402", "N0403", "N0404", "N0405", "N0406", "N0407", "N0408", "N0409", "N0410", "N0411", "N0412", "N0413", "N0414", "N0415", "N0416", "N0417", "N0418", "N0419", "N0420", "N0421", "N0422", "N0423", "N0424", "N0425", "N0426", "N0427", "N0428", "N0429", "N0430", "N0431", "N0432", "N0433", "N0434", "N0435", "N0436", "N0437", "N0438", "N0439", "N0440", "N0441", "N0442", "N0443", "N0444", "N0445", "N0446", "N0447", "N0448", "N0449", "N0450", "N0451", "N0452", "N0453", "N0454", "N0455", "N0456", "N0457", "N0458", "N0459", "N0460", "N0461", "N0462", "N0463", "N0464", "N0465", "N0466", "N0467", "N0468", "N0469", "N0470", "N0471", "N0472", "N0473", "N0474", "N0475", "N0476", "N0477", "N0478", "N0479", "N0480", "N0481", "N0482", "N0483", "N0484", "N0485", "N0486", "N0487", "N0488", "N0489", "N0490", "N0491", "N0492", "N0493", "N0494", "N0495", "N0496", "N0497", "N0498", "N0499", "N0500", "N0501", "N0502", "N0503", "N0504", "N0505", "N0506", "N0507", "N0508", "N0509", "N0510", "N0511", "N0512", "N0513", "N0514", "N0515", "N0516", "N0517", "N0518", "N0519", "N0520", "N0521", "N0522", "N0523", "N0524", "N0525", "N0526", "N0527", "N0528", "N0529", "N0530", "N0531", "N0532", "N0533", "N0534", "N0535", "N0536", "N0537", "N0538", "N0539", "N0540", "N0541", "N0542", "N0543", "N0544", "N0545", "N0546", "N0547", "N0548", "N0549", "N0550", "N0551", "N0552", "N0553", "N0554", "N0555", "N0556", "N0557", "N0558", "N0559", "N0560", "N0561", "N0562", "N0563", "N0564", "N0565", "N0566", "N0567", "N0568", "N0569", "N0570", "N0571", "N0572", "N0573", "N0574", "N0575", "N0576", "N0577", "N0578", "N0579", "N0580", "N0581", "N0582", "N0583", "N0584", "N0585", "N0586", "N0587", "N0588", "N0589", "N0590", "N0591", "N0592", "N0593", "N0594", "N0595", "N0596", "N0597", "N0598", "N0599", "N0600", "N0601", "N0602", "N0603", "N0604", "N0605", "N0606", "N0607", "N0608", "N0609", "N0610", "N0611", "N0612", "N0613", "N0614", "N0615", "N0616", "N0617", "N0618", "N0619", "N0620", "N0621", "N0622", "N0623", "N0624", "N0625", "N0626", "N0627", "N0628", "N0629", "N0630", "N0631", "N0632", "N0633", "N0634", "N0635", "N0636", "N0637", "N0638", "N0639", "N0640", "N0641", "N0642", "N0643", "N0644", "N0645", "N0646", "N0647", "N0648", "N0649", "N0650", "N0651", "N0652", "N0653", "N0654", "N0655", "N0656", "N0657", "N0658", "N0659", "N0660", "N0661", "N0662", "N0663", "N0664", "N0665", "N0666", "N0667", "N0668", "N0669", "N0670", "N0671", "N0672", "N0673", "N0674", "N0675", "N0676", "N0677", "N0678", "N0679", "N0680", "N0681", "N0682", "N0683", "N0684", "N0685", "N0686", "N0687", "N0688", "N0689", "N0690", "N0691", "N0692", "N0693", "N0694", "N0695", "N0696", "N0697", "N0698", "N0699", "N0700", "N0701", "N0702", "N0703", "N0704", "N0705", "N0706", "N0707", "N0708", "N0709", "N0710", "N0711", "N0712", "N0713", "N0714", "N0715", "N0716", "N0717", "N0718", "N0719", "N0720", "N0721", "N0722", "N0723", "N0724", "N0725", "N0726", "N0727", "N0728", "N0729", "N0730", "N0731", "N0732", "N0733", "N0734", "N0735", "N0736", "N0737", "N0738", "N0739", "N0740", "N0741", "N0742", "N0743", "N0744", "N0745", "N0746", "N0747", "N0748", "N0749", "N0750", "N0751", "N0752", "N0753", "N0754", "N0755", "N0756", "N0757", "N0758", "N0759", "N0760", "N0761", "N0762", "N0763", "N0764", "N0765", "N0766", "N0767", "N0768", "N0769", "N0770", "N0771", "N0772", "N0773", "N0774", "N0775", "N0776", "N0777", "N0778", "N0779", "N0780", "N0781", "N0782", "N0783", "N0784", "N0785", "N0786", "N0787", "N0788", "N0789", "N0790", "N0791", "N0792", "N0793", "N0794", "N0795", "N0796", "N0797", "N0798", "N0799", "N0800", "N0801", "N0802", "N0803", "N0804", "N0805", "N0806", "N0807", "N0808", "N0809", "N0810", "N0811", "N0812", "N0813", "N0814", "N0815", "N0816", "N0817", "N0818", "N0819", "N0820", "N0821", "N0822", "N0823", "N0824", "N0825", "N0826", "N0827", "N0828", "N0829", "N0830", "N0831", "N0832", "N0833", "N0834", "N0835", "N0836", "N0837", "N0838", "N0839", "N0840", "N0841", "N0842", "N0843", "N0844", "N0845", "N0846", "N0847", "N0848", "N0849", "N0850", "N0851", "N0852", "N0853", "N0854", "N0855", "N0856", "N0857", "N0858", "N0859", "N0860", "N0861", "N0862", "N0863", "N0864", "N0865", "N0866", "N0867", "N0868", "N0869", "N0870", "N0871", "N0872", "N0873", "N0874", "N0875", "N0876", "N0877", "N0878", "N0879", "N0880", "N0881", "N0882", "N0883", "N0884", "N0885", "N0886", "N0887", "N0888", "N0889", "N0890", "N0891", "N0892", "N0893", "N0894", "N0895", "N0896", "N0897", "N0898", "N0899", "N0900", "N0901", "N0902", "N0903", "N0904", "N0905", "N0906", "N0907", "N0908", "N0909", "N0910", "N0911", "N0912", "N0913", "N0914", "N0915", "N0916", "N0917", "N0918", "N0919", "N0920", "N0921", "N0922", "N0923", "N0924", "N0925", "N0926", "N0927", "N0928", "N0929", "N0930", "N0931", "N0932", "N0933", "N0934", "N0935", "N0936", "N0937", "N0938", "N0939", "N0940", "N0941", "N0942", "N0943", "N0944", "N0945", "N0946", "N0947", "N0948", "N0949", "N0950", "N0951", "N0952", "N0953", "N0954", "N0955", "N0956", "N0957", "N0958", "N0959", "N0960", "N0961", "N0962", "N0963", "N0964", "N0965", "N0966", "N0967", "N0968", "N0969", "N0970", "N0971", "N0972", "N0973", "N0974", "N0975", "N0976", "N0977", "N0978", "N0979", "N0980", "N0981", "N0982", "N0983", "N0984", "N0985", "N0986", "N0987", "N0988", "N0989", "N0990", "N0991", "N0992", "N0993", "N0994", "N0995", "N0996", "N0997", "N0998", "N0999", "N1000", "N1001", "N1002", "N1003", "N1004", "N1005", "N1006", "N1007", "N1008", "N1009", "N1010", "N1011", "N1012", "N1013", "N1014", "N1015", "N1016", "N1017", "N1018", "N1019", "N1020", "N1021", "N1022", "N1023", "N1024", "N1025", "N1026", "N1027", "N1028", "N1029", "N1030", "N1031", "N1032", "N1033", "N1034", "N1035", "N1036", "N1037", "N1038", "N1039", "N1040", "N1041", "N1042", "N1043", "N1044", "N1045", "N1046", "N1047", "N1048", "N1049", "N1050", "N1051", "N1052", "N1053", "N1054", "N1055", "N1056", "N1057", "N1058", "N1059", "N1060", "N1061", "N1062", "N1063", "N1064", "N1065", "N1066", "N1067", "N1068", "N1069", "N1070", "N1071", "N1072", "N1073", "N1074", "N1075", "N1076", "N1077", "N1078", "N1079", "N1080", "N1081", "N1082", "N1083", "N1084", "N1085", "N1086", "N1087", "N1088", "N1089", "N1090", "N1091", "N1092", "N1093", "N1094", "N1095", "N1096", "N1097", "N1098", "N1099", "N1100", "N1101", "N1102", "N1103", "N1104", "N1105", "N1106", "N1107", "N1108", "N1109", "N1110", "N1111", "N1112", "N1113", "N1114", "N1115", "N1116", "N1117", "N1118", "N1119", "N1120", "N1121", "N1122", "N1123", "N1124", "N1125", "N1126", "N1127", "N1128", "N1129", "N1130", "N1131", "N1132", "N1133", "N1134", "N1135", "N1136", "N1137", "N1138", "N1139", "N1140", "N1141", "N1142", "N1143", "N1144", "N1145", "N1146", "N1147", "N1148", "N1149", "N1150", "N1151", "N1152", "N1153", "N1154", "N1155", "N1156", "N1157", "N1158", "N1159", "N1160", "N1161", "N1162", "N1163", "N1164", "N1165", "N1166", "N1167", "N1168", "N1169", "N1170", "N1171", "N1172", "N1173", "N1174", "N1175", "N1176", "N1177", "N1178", "N1179", "N1180", "N1181", "N1182", "N1183", "N1184", "N1185", "N1186", "N1187", "N1188", "N1189", "N1190", "N1191", "N1192", "N1193", "N1194", "N1195", "N1196", "N1197", "N1198", "N1199", "N1200", "N1201", "N1202", "N1203", "N1204", "N1205", "N1206", "N1207", "N1208", "N1209", "N1210", "N1211", "N1212", "N1213", "N1214", "N1215", "N1216", "N1217", "N1218", "N1219", "N1220", "N1221", "N1222", "N1223", "N1224", "N1225", "N1226", "N1227", "N1228", "N1229", "N1230", "N1231", "N1232", "N1233", "N1234", "N1235", "N1236", "N1237", "N1238", "N1239", "N1240", "N1241", "N1242", "N1243", "N1244", "N1245", "N1246", "N1247", "N1248", "N1249", "N1250", "N1251", "N1252", "N1253", "N1254", "N1255", "N1256", "N1257", "N1258", "N1259", "N1260", "N1261", "N1262", "N1263", "N1264", "N1265", "N1266", "N1267", "N1268", "N1269", "N1270", "N1271", "N1272", "N1273", "N1274", "N1275", "N1276", "N1277", "N1278", "N1279", "N1280", "N1281", "N1282", "N1283", "N1284", "N1285", "N1286", "N1287", "N1288", "N1289", "N1290", "N1291", "N1292", "N1293", "N1294", "N1295", "N1296", "N1297", "N1298", "N1299", "N1300", "N1301", "N1302", "N1303", "N1304", "N1305", "N1306", "N1307", "N1308", "N1309", "N1310", "N1311", "N1312", "N1313", "N1314", "N1315", "N1316", "N1317", "N1318", "N1319", "N1320", "N1321", "N1322", "N1323", "N1324", "N1325", "N1326", "N1327", "N1328", "N1329", "N1330", "N1331", "N1332", "N1333", "N1334", "N1335", "N1336", "N1337", "N1338", "N1339", "N1340", "N1341", "N1342", "N1343", "N1344", "N1345", "N1346", "N1347", "N1348", "N1349", "N1350", "N1351", "N1352", "N1353", "N1354", "N1355", "N1356", "N1357", "N1358", "N1359", "N1360", "N1361", "N1362", "N1363", "N1364", "N1365", "N1366", "N1367", "N1368", "N1369", "N1370", "N1371", "N1372", "N1373", "N1374", "N1375", "N1376", "N1377", "N1378", "N1379", "N1380", "N1381", "N1382", "N1383", "N1384", "N1385", "N1386", "N1387", "N1388", "N1389", "N1390", "N1391", "N1392", "N1393", "N1394", "N1395", "N1396", "N1397", "N1398", "N1399", "N1400", "N1401", "N1402", "N1403", "N1404", "N1405", "N1406", "N1407", "N1408", "N1409", "N1410", "N1411", "N1412", "N1413", "N1414", "N1415", "N1416", "N1417", "N1418", "N1419", "N1420", "N1421", "N1422", "N1423", "N1424", "N1425", "N1426", "N1427", "N1428", "N1429", "N1430", "N1431", "N1432", "N1433", "N1434", "N1435", "N1436", "N1437", "N1438", "N1439", "N1440", "N1441", "N1442", "N1443", "N1444", "N1445", "N1446", "N1447", "N1448", "N1449", "N1450", "N1451", "N1452", "N1453", "N1454", "N1455", "N1456", "N1457", "N1458", "N1459", "N1460", "N1461", "N1462", "N1463", "N1464", "N1465", "N1466", "N1467", "N1468", "N1469", "N1470", "N1471", "N1472", "N1473", "N1474", "N1475", "N1476", "N1477", "N1478", "N1479", "N1480", "N1481", "N1482", "N1483", "N1484", "N1485", "N1486", "N1487", "N1488", "N1489", "N1490", "N1491", "N1492", "N1493", "N1494", "N1495", "N1496", "N1497", "N1498", "N1499", "N1500", "N1501", "N1502", "N1503", "N1504", "N1505", "N1506", "N1507", "N1508", "N1509", "N1510", "N1511", "N1512", "N1513", "N1514", "N1515", "N1516", "N1517", "N1518", "N1519", "N1520", "N1521", "N1522", "N1523", "N1524", "N1525", "N1526", "N1527", "N1528", "N1529", "N1530", "N1531", "N1532", "N1533", "N1534", "N1535", "N1536", "N1537", "N1538", "N1539", "N1540", "N1541", "N1542", "N1543", "N1544", "N1545", "N1546", "N1547", "N1548", "N1549", "N1550", "N1551", "N1552", "N1553", "N1554", "N1555", "N1556", "N1557", "N1558", "N1559", "N1560", "N1561", "N1562", "N1563", "N1564", "N1565", "N1566", "N1567", "N1568", "N1569", "N1570", "N1571", "N1572", "N1573", "N1574", "N1575", "N1576", "N1577", "N1578", "N1579", "N1580", "N1581", "N1582", "N1583", "N1584", "N1585", "N1586", "N1587", "N1588", "N1589", "N1590", "N1591", "N1592", "N1593", "N1594", "N1595", "N1596", "N1597", "N1598", "N1599", "N1600", "N1601", "N1602", "N1603", "N1604", "N1605", "N1606", "N1607", "N1608", "N1609", "N1610", "N1611", "N1612", "N1613", "N1614", "N1615", "N1616", "N1617", "N1618", "N1619", "N1620", "N1621", "N1622", "N1623", "N1624", "N1625", "N1626", "N1627", "N1628", "N1629", "N1630", "N1631", "N1632", "N1633", "N1634", "N1635", "N1636", "N1637", "N1638", "N1639", "N1640", "N1641", "N1642", "N1643", "N1644", "N1645", "N1646", "N1647", "N1648", "N1649", "N1650", "N1651", "N1652", "N1653", "N1654", "N1655", "N1656", "N1657", "N1658", "N1659", "N1660", "N1661", "N1662", "N1663", "N1664", "N1665", "N1666", "N1667", "N1668", "N1669", "N1670", "N1671", "N1672", "N1673", "N1674", "N1675", "N1676", "N1677", "N1678", "N1679", "N1680", "N1681", "N1682", "N1683", "N1684", "N1685", "N1686", "N1687", "N1688", "N1689", "N1690", "N1691", "N1692", "N1693", "N1694", "N1695", "N1696", "N1697", "N1698", "N1699", "N1700", "N1701", "N1702", "N1703", "N1704", "N1705", "N1706", "N1707", "N1708", "N1709", "N1710", "N1711", "N1712", "N1713", "N1714", "N1715", "N1716", "N1717", "N1718", "N1719", "N1720", "N1721", "N1722", "N1723", "N1724", "N1725", "N1726", "N1727", "N1728", "N1729", "N1730", "N1731", "N1732", "N1733", "N1734", "N1735", "N1736", "N1737", "N1738", "N1739", "N1740", "N1741", "N1742", "N1743", "N1744", "N1745", "N1746", "N1747", "N1748", "N1749", "N1750", "N1751", "N1752", "N1753", "N1754", "N1755", "N1756", "N1757", "N1758", "N1759", "N1760", "N1761", "N1762", "N1763", "N1764", "N1765", "N1766", "N1767", "N1768", "N1769", "N1770", "N1771", "N1772", "N1773", "N1774", "N1775", "N1776", "N1777", "N1778", "N1779", "N1780", "N1781", "N1782", "N1783", "N1784", "N1785", "N1786", "N1787", "N1788", "N1789", "N1790", "N1791", "N1792", "N1793", "N1794", "N1795", "N1796", "N1797", "N1798", "N1799", "N1800", "N1801", "N1802", "N1803", "N1804", "N1805", "N1806", "N1807", "N1808", "N1809", "N1810", "N1811", "N1812", "N1813", "N1814", "N1815", "N1816", "N1817", "N1818", "N1819", "N1820", "N1821", "N1822", "N1823", "N1824", "N1825", "N1826", "N1827", "N1828", "N1829", "N1830", "N1831", "N1832", "N1833", "N1834", "N1835", "N1836", "N1837", "N1838", "N1839", "N1840", "N1841", "N1842", "N1843", "N1844", "N1845", "N1846", "N1847", "N1848", "N1849", "N1850", "N1851", "N1852", "N1853", "N1854", "N1855", "N1856", "N1857", "N1858", "N1859", "N1860", "N1861", "N1862", "N1863", "N1864", "N1865", "N1866", "N1867", "N1868", "N1869", "N1870", "N1871", "N1872", "N1873", "N1874", "N1875", "N1876", "N1877", "N1878", "N1879", "N1880", "N1881", "N1882", "N1883", "N1884", "N1885", "N1886", "N1887", "N1888", "N1889", "N1890", "N1891", "N1892", "N1893", "N1894", "N1895", "N1896", "N1897", "N1898", "N1899", "N1900", "N1901", "N1902", "N1903", "N1904", "N1905", "N1906", "N1907", "N1908", "N1909", "N1910", "N1911", "N1912", "N1913", "N1914", "N1915", "N1916", "N1917", "N1918", "N1919", "N1920", "N1921", "N1922", "N1923", "N1924", "N1925", "N1926", "N1927", "N1928", "N1929", "N1930", "N1931", "N1932", "N1933", "N1934", "N1935", "N1936", "N1937", "N1938", "N1939", "N1940", "N1941", "N1942", "N1943", "N1944", "N1945", "N1946", "N1947", "N1948", "N1949", "N1950", "N1951", "N1952", "N1953", "N1954", "N1955", "N1956", "N1957", "N1958", "N1959", "N1960", "N1961", "N1962", "N1963", "N1964", "N1965", "N1966", "N1967", "N1968", "N1969", "N1970", "N1971", "N1972", "N1973", "N1974", "N1975", "N1976", "N1977", "N1978", "N1979", "N1980", "N1981", "N1982", "N1983", "N1984", "N1985", "N1986", "N1987", "N1988", "N1989", "N1990", "N1991", "N1992", "N1993", "N1994", "N1995", "N1996", "N1997", "N1998", "N1999", "N2000", "N2001", "N2002", "N2003", "N2004", "N2005", "N2006", "N2007", "N2008", "N2009", "N2010", "N2011", "N2012", "N2013", "N2014", "N2015", "N2016", "N2017", "N2018", "N2019", "N2020", "N2021", "N2022", "N2023", "N2024", "N2025", "N2026", "N2027", "N2028", "N2029", "N2030", "N2031", "N2032", "N2033", "N2034", "N2035", "N2036", "N2037", "N2038", "N2039", "N2040", "N2041", "N2042", "N2043", "N2044", "N2045", "N2046", "N2047", "N2048", "N2049", "N2050", "N2051", "N2052", "N2053", "N2054", "N2055", "N2056", "N2057", "N2058", "N2059", "N2060", "N2061", "N2062", "N2063", "N2064", "N2065", "N2066", "N2067", "N2068", "N2069", "N2070", "N2071", "N2072", "N2073", "N2074", "N2075", "N2076", "N2077", "N2078", "N2079", "N2080", "N2081", "N2082", "N2083", "N2084", "N2085", "N2086", "N2087", "N2088", "N2089", "N2090", "N2091", "N2092", "N2093", "N2094", "N2095", "N2096", "N2097", "N2098", "N2099", "N2100", "N2101", "N2102", "N2103", "N2104", "N2105", "N2106", "N2107", "N2108", "N2109", "N2110", "N2111", "N2112", "N2113", "N2114", "N2115", "N2116", "N2117", "N2118", "N2119", "N2120", "N2121", "N2122", "N2123", "N2124", "N2125", "N2126", "N2127", "N2128", "N2129", "N2130", "N2131", "N2132", "N2133", "N2134", "N2135", "N2136", "N2137", "N2138", "N2139", "N2140", "N2141", "N2142", "N2143", "N2144", "N2145", "N2146", "N2147", "N2148", "N2149", "N2150", "N2151", "N2152", "N2153", "N2154", "N2155", "N2156", "N2157", "N2158", "N2159", "N2160", "N2161", "N2162", "N2163", "N2164", "N2165", "N2166", "N2167", "N2168", "N2169", "N2170", "N2171", "N2172", "N2173", "N2174", "N2175", "N2176", "N2177", "N2178", "N2179", "N2180", "N2181", "N2182", "N2183", "N2184", "N2185", "N2186", "N2187", "N2188", "N2189", "N2190", "N2191", "N2192", "N2193", "N2194", "N2195", "N2196", "N2197", "N2198", "N2199", "N2200", "N2201", "N2202", "N2203", "N2204", "N2205", "N2206", "N2207", "N2208", "N2209", "N2210", "N2211", "N2212", "N2213", "N2214", "N2215", "N2216", "N2217", "N2218", "N2219", "N2220", "N2221", "N2222", "N2223", "N2224", "N2225", "N2226", "N2227", "N2228", "N2229", "N2230", "N2231", "N2232", "N2233", "N2234", "N2235", "N2236", "N2237", "N2238", "N2239", "N2240", "N2241", "N2242", "N2243", "N2244", "N2245", "N2246", "N2247", "N2248", "N2249", "N2250", "N2251", "N2252", "N2253", "N2254", "N2255", "N2256", "N2257", "N2258", "N2259", "N2260", "N2261", "N2262", "N2263", "N2264", "N2265", "N2266", "N2267", "N2268", "N2269", "N2270", "N2271", "N2272", "N2273", "N2274", "N2275", "N2276", "N2277", "N2278", "N2279", "N2280", "N2281", "N2282", "N2283", "N2284", "N2285", "N2286", "N2287", "N2288", "N2289", "N2290", "N2291", "N2292", "N2293", "N2294", "N2295", "N2296", "N2297", "N2298", "N2299", "N2300", "N2301", "N2302", "N2303", "N2304", "N2305", "N2306", "N2307", "N2308", "N2309", "N2310", "N2311", "N2312", "N2313", "N2314", "N2315", "N2316", "N2317", "N2318", "N2319", "N2320", "N2321", "N2322", "N2323", "N2324", "N2325", "N2326", "N2327", "N2328", "N2329", "N2330", "N2331", "N2332", "N2333", "N2334", "N2335", "N2336", "N2337", "N2338", "N2339", "N2340", "N2341", "N2342", "N2343", "N2344", "N2345", "N2346", "N2347", "N2348", "N2349", "N2350", "N2351", "N2352", "N2353", "N2354", "N2355", "N2356", "N2357", "N2358", "N2359", "N2360", "N2361", "N2362", "N2363", "N2364", "N2365", "N2366", "N2367", "N2368", "N2369", "N2370", "N2371", "N2372", "N2373", "N2374", "N2375", "N2376", "N2377", "N2378", "N2379", "N2380", "N2381", "N2382", "N2383", "N2384", "N2385", "N2386", "N2387", "N2388", "N2389", "N2390", "N2391", "N2392", "N2393", "N2394", "N2395", "N2396", "N2397", "N2398", "N2399", "N2400", "N2401", "N2402", "N2403", "N2404", "N2405", "N2406", "N2407", "N2408", "N2409", "N2410", "N2411", "N2412", "N2413", "N2414", "N2415", "N2416", "N2417", "N2418", "N2419", "N2420", "N2421", "N2422", "N2423", "N2424", "N2425", "N2426", "N2427", "N2428", "N2429", "N2430", "N2431", "N2432", "N2433", "N2434", "N2435", "N2436", "N2437", "N2438", "N2439", "N2440", "N2441", "N2442", "N2443", "N2444", "N2445", "N2446", "N2447", "N2448", "N2449", "N2450", "N2451", "N2452", "N2453", "N2454", "N2455", "N2456", "N2457", "N2458", "N2459", "N2460", "N2461", "N2462", "N2463", "N2464", "N2465", "N2466", "N2467", "N2468", "N2469", "N2470", "N2471", "N2472", "N2473", "N2474", "N2475", "N2476", "N2477", "N2478", "N2479", "N2480", "N2481", "N2482", "N2483", "N2484", "N2485", "N2486", "N2487", "N2488", "N2489", "N2490", "N2491", "N2492", "N2493", "N2494", "N2495", "N2496", "N2497", "N2498", "N2499", "N2500", "N2501", "N2502", "N2503", "N2504", "N2505", "N2506", "N2507", "N2508", "N2509", "N2510", "N2511", "N2512", "N2513", "N2514", "N2515", "N2516", "N2517", "N2518", "N2519", "N2520", "N2521", "N2522", "N2523", "N2524", "N2525", "N2526", "N2527", "N2528", "N2529", "N2530", "N2531", "N2532", "N2533", "N2534", "N2535", "N2536", "N2537", "N2538", "N2539", "N2540", "N2541", "N2542", "N2543", "N2544", "N2545", "N2546", "N2547", "N2548", "N2549", "N2550", "N2551", "N2552", "N2553", "N2554", "N2555", "N2556", "N2557", "N2558", "N2559", "N2560", "N2561", "N2562", "N2563", "N2564", "N2565", "N2566", "N2567", "N2568", "N2569", "N2570", "N2571", "N2572", "N2573", "N2574", "N2575", "N2576", "N2577", "N2578", "N2579", "N2580", "N2581", "N2582", "N2583", "N2584", "N2585", "N2586", "N2587", "N2588", "N2589", "N2590", "N2591", "N2592", "N2593", "N2594", "N2595", "N2596", "N2597", "N2598", "N2599", "N2600", "N2601", "N2602", "N2603", "N2604", "N2605", "N2606", "N2607", "N2608", "N2609", "N2610", "N2611", "N2612", "N2613", "N2614", "N2615", "N2616", "N2617", "N2618", "N2619", "N2620", "N2621", "N2622", "N2623", "N2624", "N2625", "N2626", "N2627", "N2628", "N2629", "N2630", "N2631", "N2632", "N2633", "N2634", "N2635", "N2636", "N2637", "N2638", "N2639", "N2640", "N2641", "N2642", "N2643", "N2644", "N2645", "N2646", "N2647", "N2648", "N2649", "N2650", "N2651", "N2652", "N2653", "N2654", "N2655", "N2656", "N2657", "N2658", "N2659", "N2660", "N2661", "N2662", "N2663", "N2664", "N2665", "N2666", "N2667", "N2668", "N2669", "N2670", "N2671", "N2672", "N2673", "N2674", "N2675", "N2676", "N2677", "N2678", "N2679", "N2680", "N2681", "N2682", "N2683", "N2684", "N2685", "N2686", "N2687", "N2688", "N2689", "N2690", "N2691", "N2692", "N2693", "N2694", "N2695", "N2696", "N2697", "N2698", "N2699", "N2700", "N2701", "N2702", "N2703", "N2704", "N2705", "N2706", "N2707", "N2708", "N2709", "N2710", "N2711", "N2712", "N2713", "N2714", "N2715", "N2716", "N2717", "N2718", "N2719", "N2720", "N2721", "N2722", "N2723", "N2724", "N2725", "N2726", "N2727", "N2728", "N2729", "N2730", "N2731", "N2732", "N2733", "N2734", "N2735", "N2736", "N2737", "N2738", "N2739", "N2740", "N2741", "N2742", "N2743", "N2744", "N2745", "N2746", "N2747", "N2748", "N2749", "N2750", "N2751", "N2752", "N2753", "N2754", "N2755", "N2756", "N2757", "N2758", "N2759", "N2760", "N2761", "N2762", "N2763", "N2764", "N2765", "N2766", "N2767", "N2768", "N2769", "N2770", "N2771", "N2772", "N2773", "N2774", "N2775", "N2776", "N2777", "N2778", "N2779", "N2780", "N2781", "N2782", "N2783", "N2784", "N2785", "N2786", "N2787", "N2788", "N2789", "N2790", "N2791", "N2792", "N2793", "N2794", "N2795", "N2796", "N2797", "N2798", "N2799", "N2800", "N2801", "N2802", "N2803", "N2804", "N2805", "N2806", "N2807", "N2808", "N2809", "N2810", "N2811", "N2812", "N2813", "N2814", "N2815", "N2816", "N2817", "N2818", "N2819", "N2820", "N2821", "N2822", "N2823", "N2824", "N2825", "N2826", "N2827", "N2828", "N2829", "N2830", "N2831", "N2832", "N2833", "N2834", "N2835", "N2836", "N2837", "N2838", "N2839", "N2840", "N2841", "N2842", "N2843", "N2844", "N2845", "N2846", "N2847", "N2848", "N2849", "N2850", "N2851", "N2852", "N2853", "N2854", "N2855", "N2856", "N2857", "N2858", "N2859", "N2860", "N2861", "N2862", "N2863", "N2864", "N2865", "N2866", "N2867", "N2868", "N2869", "N2870", "N2871", "N2872", "N2873", "N2874", "N2875", "N2876", "N2877", "N2878", "N2879", "N2880", "N2881", "N2882", "N2883", "N2884", "N2885", "N2886", "N2887", "N2888", "N2889", "N2890", "N2891", "N2892", "N2893", "N2894", "N2895", "N2896", "N2897", "N2898", "N2899", "N2900", "N2901", "N2902", "N2903", "N2904", "N2905", "N2906", "N2907", "N2908", "N2909", "N2910", "N2911", "N2912", "N2913", "N2914", "N2915", "N2916", "N2917", "N2918", "N2919", "N2920", "N2921", "N2922", "N2923", "N2924", "N2925", "N2926", "N2927", "N2928", "N2929", "N2930", "N2931", "N2932", "N2933", "N2934", "N2935", "N2936", "N2937", "N2938", "N2939", "N2940", "N2941", "N2942", "N2943", "N2944", "N2945", "N2946", "N2947", "N2948", "N2949", "N2950", "N2951", "N2952", "N2953", "N2954", "N2955", "N2956", "N2957", "N2958", "N2959", "N2960", "N2961", "N2962", "N2963", "N2964", "N2965", "N2966", "N2967", "N2968", "N2969", "N2970", "N2971", "N2972", "N2973", "N2974", "N2975", "N2976", "N2977", "N2978", "N2979", "N2980", "N2981", "N2982", "N2983", "N2984", "N2985", "N2986", "N2987", "N2988", "N2989", "N2990", "N2991", "N2992", "N2993", "N2994", "N2995", "N2996", "N2997", "N2998", "N2999", "N3000", "N3001", "N3002", "N3003", "N3004", "N3005", "N3006", "N3007", "N3008", "N3009", "N3010", "N3011", "N3012", "N3013", "N3014", "N3015", "N3016", "N3017", "N3018", "N3019", "N3020", "N3021", "N3022", "N3023", "N3024", "N3025", "N3026", "N3027", "N3028", "N3029", "N3030", "N3031", "N3032", "N3033", "N3034", "N3035", "N3036", "N3037", "N3038", "N3039", "N3040", "N3041", "N3042", "N3043", "N3044", "N3045", "N3046", "N3047", "N3048", "N3049", "N3050", "N3051", "N3052", "N3053", "N3054", "N3055", "N3056", "N3057", "N3058", "N3059", "N3060", "N3061", "N3062", "N3063", "N3064", "N3065", "N3066", "N3067", "N3068", "N3069", "N3070", "N3071", "N3072", "N3073", "N3074", "N3075", "N3076", "N3077", "N3078", "N3079", "N3080", "N3081", "N3082", "N3083", "N3084", "N3085", "N3086", "N3087", "N3088", "N3089", "N3090", "N3091", "N3092", "N3093", "N3094", "N3095", "N3096", "N3097", "N3098", "N3099", "N3100", "N3101", "N3102", "N3103", "N3104", "N3105", "N3106", "N3107", "N3108", "N3109", "N3110", "N3111", "N3112", "N3113", "N3114", "N3115", "N3116", "N3117", "N3118", "N3119", "N3120", "N3121", "N3122", "N3123", "N3124", "N3125", "N3126", "N3127", "N3128", "N3129", "N3130", "N3131", "N3132", "N3133", "N3134", "N3135", "N3136", "N3137", "N3138", "N3139", "N3140", "N3141", "N3142", "N3143", "N3144", "N3145", "N3146", "N3147", "N3148", "N3149", "N3150", "N3151", "N3152", "N3153", "N3154", "N3155", "N3156", "N3157", "N3158", "N3159", "N3160", "N3161", "N3162", "N3163", "N3164", "N3165", "N3166", "N3167", "N3168", "N3169", "N3170", "N3171", "N3172", "N3173", "N3174", "N3175", "N3176", "N3177", "N3178", "N3179", "N3180", "N3181", "N3182", "N3183", "N3184", "N3185", "N3186", "N3187", "N3188", "N3189", "N3190", "N3191", "N3192", "N3193", "N3194", "N3195", "N3196", "N3197", "N3198", "N3199", "N3200", "N3201", "N3202", "N3203", "N3204", "N3205", "N3206", "N3207", "N3208", "N3209", "N3210", "N3211", "N3212", "N3213", "N3214", "N3215", "N3216", "N3217", "N3218", "N3219", "N3220", "N3221", "N3222", "N3223", "N3224", "N3225", "N3226", "N3227", "N3228", "N3229", "N3230", "N3231", "N3232", "N3233", "N3234", "N3235", "N3236", "N3237", "N3238", "N3239", "N3240", "N3241", "N3242", "N3243", "N3244", "N3245", "N3246", "N3247", "N3248", "N3249", "N3250", "N3251", "N3252", "N3253", "N3254", "N3255", "N3256", "N3257", "N3258", "N3259", "N3260", "N3261", "N3262", "N3263", "N3264", "N3265", "N3266", "N3267", "N3268", "N3269", "N3270", "N3271", "N3272", "N3273", "N3274", "N3275", "N3276", "N3277", "N3278", "N3279", "N3280", "N3281", "N3282", "N3283", "N3284", "N3285", "N3286", "N3287", "N3288", "N3289", "N3290", "N3291", "N3292", "N3293", "N3294", "N3295", "N3296", "N3297", "N3298", "N3299", "N3300", "N3301", "N3302", "N3303", "N3304", "N3305", "N3306", "N3307", "N3308", "N3309", "N3310", "N3311", "N3312", "N3313", "N3314", "N3315", "N3316", "N3317", "N3318", "N3319", "N3320", "N3321", "N3322", "N3323", "N3324", "N3325", "N3326", "N3327", "N3328", "N3329", "N3330", "N3331", "N3332", "N3333", "N3334", "N3335", "N3336", "N3337", "N3338", "N3339", "N3340", "N3341", "N3342", "N3343", "N3344", "N3345", "N3346", "N3347", "N3348", "N3349", "N3350", "N3351", "N3352", "N3353", "N3354", "N3355", "N3356", "N3357", "N3358", "N3359", "N3360", "N3361", "N3362", "N3363", "N3364", "N3365", "N3366", "N3367", "N3368", "N3369", "N3370", "N3371", "N3372", "N3373", "N3374", "N3375", "N3376", "N3377", "N3378", "N3379", "N3380", "N3381", "N3382", "N3383", "N3384", "N3385", "N3386", "N3387", "N3388", "N3389", "N3390", "N3391", "N3392", "N3393", "N3394", "N3395", "N3396", "N3397", "N3398", "N3399", "N3400", "N3401", "N3402", "N3403", "N3404", "N3405", "N3406", "N3407", "N3408", "N3409", "N3410", "N3411", "N3412", "N3413", "N3414", "N3415", "N3416", "N3417", "N3418", "N3419", "N3420", "N3421", "N3422", "N3423", "N3424", "N3425", "N3426", "N3427", "N3428", "N3429", "N3430", "N3431", "N3432", "N3433", "N3434", "N3435", "N3436", "N3437", "N3438", "N3439", "N3440", "N3441", "N3442", "N3443", "N3444", "N3445", "N3446", "N3447", "N3448", "N3449", "N3450", "N3451", "N3452", "N3453", "N3454", "N3455", "N3456", "N3457", "N3458", "N3459", "N3460", "N3461", "N3462", "N3463", "N3464", "N3465", "N3466", "N3467", "N3468", "N3469", "N3470", "N3471", "N3472", "N3473", "N3474", "N3475", "N3476", "N3477", "N3478", "N3479", "N3480", "N3481", "N3482", "N3483", "N3484", "N3485", "N3486", "N3487", "N3488", "N3489", "N3490", "N3491", "N3492", "N3493", "N3494", "N3495", "N3496", "N3497", "N3498", "N3499", "N3500", "N3501", "N3502", "N3503", "N3504", "N3505", "N3506", "N3507", "N3508", "N3509", "N3510", "N3511", "N3512", "N3513", "N3514", "N3515", "N3516", "N3517", "N3518", "N3519", "N3520", "N3521", "N3522", "N3523", "N3524", "N3525", "N3526", "N3527", "N3528", "N3529", "N3530", "N3531", "N3532", "N3533", "N3534", "N3535", "N3536", "N3537", "N3538", "N3539", "N3540", "N3541", "N3542", "N3543", "N3544", "N3545", "N3546", "N3547", "N3548", "N3549", "N3550", "N3551", "N3552", "N3553", "N3554", "N3555", "N3556", "N3557", "N3558", "N3559", "N3560", "N3561", "N3562", "N3563", "N3564", "N3565", "N3566", "N3567", "N3568", "N3569", "N3570", "N3571", "N3572", "N3573", "N3574", "N3575", "N3576", "N3577", "N3578", "N3579", "N3580", "N3581", "N3582", "N3583", "N3584", "N3585", "N3586", "N3587", "N3588", "N3589", "N3590", "N3591", "N3592", "N3593", "N3594", "N3595", "N3596", "N3597", "N3598", "N3599", "N3600", "N3601", "N3602", "N3603", "N3604", "N3605", "N3606", "N3607", "N3608", "N3609", "N3610", "N3611", "N3612", "N3613", "N3614", "N3615", "N3616", "N3617", "N3618", "N3619", "N3620", "N3621", "N3622", "N3623", "N3624", "N3625", "N3626", "N3627", "N3628", "N3629", "N3630", "N3631", "N3632", "N3633", "N3634", "N3635", "N3636", "N3637", "N3638", "N3639", "N3640", "N3641", "N3642", "N3643", "N3644", "N3645", "N3646", "N3647", "N3648", "N3649", "N3650", "N3651", "N3652", "N3653", "N3654", "N3655", "N3656", "N3657", "N3658", "N3659", "N3660", "N3661", "N3662", "N3663", "N3664", "N3665", "N3666", "N3667", "N3668", "N3669", "N3670", "N3671", "N3672", "N3673", "N3674", "N3675", "N3676", "N3677", "N3678", "N3679", "N3680", "N3681", "N3682", "N3683", "N3684", "N3685", "N3686", "N3687", "N3688", "N3689", "N3690", "N3691", "N3692", "N3693", "N3694", "N3695", "N3696", "N3697", "N3698", "N3699", "N3700", "N3701", "N3702", "N3703", "N3704", "N3705", "N3706", "N3707", "N3708", "N3709", "N3710", "N3711", "N3712", "N3713", "N3714", "N3715", "N3716", "N3717", "N3718", "N3719", "N3720", "N3721", "N3722", "N3723", "N3724", "N3725", "N3726", "N3727", "N3728", "N3729", "N3730", "N3731", "N3732", "N3733", "N3734", "N3735", "N3736", "N3737", "N3738", "N3739", "N3740", "N3741", "N3742", "N3743", "N3744", "N3745", "N3746", "N3747", "N3748", "N3749", "N3750", "N3751", "N3752", "N3753", "N3754", "N3755", "N3756", "N3757", "N3758", "N3759", "N3760", "N3761", "N3762", "N3763", "N3764", "N3765", "N3766", "N3767", "N3768", "N3769", "N3770", "N3771", "N3772", "N3773", "N3774", "N3775", "N3776", "N3777", "N3778", "N3779", "N3780", "N3781", "N3782", "N3783", "N3784", "N3785", "N3786", "N3787", "N3788", "N3789", "N3790", "N3791", "N3792", "N3793", "N3794", "N3795", "N3796", "N3797", "N3798", "N3799", "N3800", "N3801", "N3802", "N3803", "N3804", "N3805", "N3806", "N3807", "N3808", "N3809", "N3810", "N3811", "N3812", "N3813", "N3814", "N3815", "N3816", "N3817", "N3818", "N3819", "N3820", "N3821", "N3822", "N3823", "N3824", "N3825", "N3826", "N3827", "N3828", "N3829", "N3830", "N3831", "N3832", "N3833", "N3834", "N3835", "N3836", "N3837", "N3838", "N3839", "N3840", "N3841", "N3842", "N3843", "N3844", "N3845", "N3846", "N3847", "N3848", "N3849", "N3850", "N3851", "N3852", "N3853", "N3854", "N3855", "N3856", "N3857", "N3858", "N3859", "N3860", "N3861", "N3862", "N3863", "N3864", "N3865", "N3866", "N3867", "N3868", "N3869", "N3870", "N3871", "N3872", "N3873", "N3874", "N3875", "N3876", "N3877", "N3878", "N3879", "N3880", "N3881", "N3882", "N3883", "N3884", "N3885", "N3886", "N3887", "N3888", "N3889", "N3890", "N3891", "N3892", "N3893", "N3894", "N3895", "N3896", "N3897", "N3898", "N3899", "N3900", "N3901", "N3902", "N3903", "N3904", "N3905", "N3906", "N3907", "N3908", "N3909", "N3910", "N3911", "N3912", "N3913", "N3914", "N3915", "N3916", "N3917", "N3918", "N3919", "N3920", "N3921", "N3922", "N3923", "N3924", "N3925", "N3926", "N3927", "N3928", "N3929", "N3930", "N3931", "N3932", "N3933", "N3934", "N3935", "N3936", "N3937", "N3938", "N3939", "N3940", "N3941", "N3942", "N3943", "N3944", "N3945", "N3946", "N3947", "N3948", "N3949", "N3950", "N3951", "N3952", "N3953", "N3954", "N3955", "N3956", "N3957", "N3958", "N3959", "N3960", "N3961", "N3962", "N3963", "N3964", "N3965", "N3966", "N3967", "N3968", "N3969", "N3970", "N3971", "N3972", "N3973", "N3974", "N3975", "N3976", "N3977", "N3978", "N3979", "N3980", "N3981", "N3982", "N3983", "N3984", "N3985", "N3986", "N3987", "N3988", "N3989", "N3990", "N3991", "N3992", "N3993", "N3994", "N3995", "N3996", "N3997", "N3998", "N3999", "N4000", "N4001", "N4002", "N4003", "N4004", "N4005", "N4006", "N4007", "N4008", "N4009", "N4010", "N4011", "N4012", "N4013", "N4014", "N4015", "N4016", "N4017", "N4018", "N4019", "N4020", "N4021", "N4022", "N4023", "N4024", "N4025", "N4026", "N4027", "N4028", "N4029", "N4030", "N4031", "N4032", "N4033", "N4034", "N4035", "N4036", "N4037", "N4038", "N4039", "N4040", "N4041", "N4042", "N4043", "N4044", "N4045", "N4046", "N4047", "N4048", "N4049", "N4050", "N4051", "N4052", "N4053", "N4054", "N4055", "N4056", "N4057", "N4058", "N4059", "N4060", "N4061", "N4062", "N4063", "N4064", "N4065", "N4066", "N4067", "N4068", "N4069", "N4070", "N4071", "N4072", "N4073", "N4074", "N4075", "N4076", "N4077", "N4078", "N4079", "N4080", "N4081", "N4082", "N4083", "N4084", "N4085", "N4086", "N4087", "N4088", "N4089", "N4090", "N4091", "N4092", "N4093", "N4094", "N4095", "N4096", "N4097", "N4098", "N4099", "N4100", "N4101", "N4102", "N4103", "N4104", "N4105", "N4106", "N4107", "N4108", "N4109", "N4110", "N4111", "N4112", "N4113", "N4114", "N4115", "N4116", "N4117", "N4118", "N4119", "N4120", "N4121", "N4122", "N4123", "N4124", "N4125", "N4126", "N4127", "N4128", "N4129", "N4130", "N4131", "N4132", "N4133", "N4134", "N4135", "N4136", "N4137", "N4138", "N4139", "N4140", "N4141", "N4142", "N4143", "N4144", "N4145", "N4146", "N4147", "N4148", "N4149", "N4150", "N4151", "N4152", "N4153", "N4154", "N4155", "N4156", "N4157", "N4158", "N4159", "N4160", "N4161", "N4162", "N4163", "N4164", "N4165", "N4166", "N4167", "N4168", "N4169", "N4170", "N4171", "N4172", "N4173", "N4174", "N4175", "N4176", "N4177", "N4178", "N4179", "N4180", "N4181", "N4182", "N4183", "N4184", "N4185", "N4186", "N4187", "N4188", "N4189", "N4190", "N4191", "N4192", "N4193", "N4194", "N4195", "N4196", "N4197", "N4198", "N4199", "N4200", "N4201", "N4202", "N4203", "N4204", "N4205", "N4206", "N4207", "N4208", "N4209", "N4210", "N4211", "N4212", "N4213", "N4214", "N4215", "N4216", "N4217", "N4218", "N4219", "N4220", "N4221", "N4222", "N4223", "N4224", "N4225", "N4226", "N4227", "N4228", "N4229", "N4230", "N4231", "N4232", "N4233", "N4234", "N4235", "N4236", "N4237", "N4238", "N4239", "N4240", "N4241", "N4242", "N4243", "N4244", "N4245", "N4246", "N4247", "N4248", "N4249", "N4250", "N4251", "N4252", "N4253", "N4254", "N4255", "N4256", "N4257", "N4258", "N4259", "N4260", "N4261", "N4262", "N4263", "N4264", "N4265", "N4266", "N4267", "N4268", "N4269", "N4270", "N4271", "N4272", "N4273", "N4274", "N4275", "N4276", "N4277", "N4278", "N4279", "N4280", "N4281", "N4282", "N4283", "N4284", "N4285", "N4286", "N4287", "N4288", "N4289", "N4290", "N4291", "N4292", "N4293", "N4294", "N4295", "N4296", "N4297", "N4298", "N4299", "N4300", "N4301", "N4302", "N4303", "N4304", "N4305", "N4306", "N4307", "N4308", "N4309", "N4310", "N4311", "N4312", "N4313", "N4314", "N4315", "N4316", "N4317", "N4318", "N4319", "N4320", "N4321", "N4322", "N4323", "N4324", "N4325", "N4326", "N4327", "N4328", "N4329", "N4330", "N4331", "N4332", "N4333", "N4334", "N4335", "N4336", "N4337", "N4338", "N4339", "N4340", "N4341", "N4342", "N4343", "N4344", "N4345", "N4346", "N4347", "N4348", "N4349", "N4350", "N4351", "N4352", "N4353", "N4354", "N4355", "N4356", "N4357", "N4358", "N4359", "N4360", "N4361", "N4362", "N4363", "N4364", "N4365", "N4366", "N4367", "N4368", "N4369", "N4370", "N4371", "N4372", "N4373", "N4374", "N4375", "N4376", "N4377", "N4378", "N4379", "N4380", "N4381", "N4382", "N4383", "N4384", "N4385", "N4386", "N4387", "N4388", "N4389", "N4390", "N4391", "N4392", "N4393", "N4394", "N4395", "N4396", "N4397", "N4398", "N4399", "N4400", "N4401", "N4402", "N4403", "N4404", "N4405", "N4406", "N4407", "N4408", "N4409", "N4410", "N4411", "N4412", "N4413", "N4414", "N4415", "N4416", "N4417", "N4418", "N4419", "N4420", "N4421", "N4422", "N4423", "N4424", "N4425", "N4426", "N4427", "N4428", "N4429", "N4430", "N4431", "N4432", "N4433", "N4434", "N4435", "N4436", "N4437", "N4438", "N4439", "N4440", "N4441", "N4442", "N4443", "N4444", "N4445", "N4446", "N4447", "N4448", "N4449", "N4450", "N4451", "N4452", "N4453", "N4454", "N4455", "N4456", "N4457", "N4458", "N4459", "N4460", "N4461", "N4462", "N4463", "N4464", "N4465", "N4466", "N4467", "N4468", "N4469", "N4470", "N4471", "N4472", "N4473", "N4474", "N4475", "N4476", "N4477", "N4478", "N4479", "N4480", "N4481", "N4482", "N4483", "N4484", "N4485", "N4486", "N4487", "N4488", "N4489", "N4490", "N4491", "N4492", "N4493", "N4494", "N4495", "N4496", "N4497", "N4498", "N4499", "N4500", "N4501", "N4502", "N4503", "N4504", "N4505", "N4506", "N4507", "N4508", "N4509", "N4510", "N4511", "N4512", "N4513", "N4514", "N4515", "N4516", "N4517", "N4518", "N4519", "N4520", "N4521", "N4522", "N4523", "N4524", "N4525", "N4526", "N4527", "N4528", "N4529", "N4530", "N4531", "N4532", "N4533", "N4534", "N4535", "N4536", "N4537", "N4538", "N4539", "N4540", "N4541", "N4542", "N4543", "N4544", "N4545", "N4546", "N4547", "N4548", "N4549", "N4550", "N4551", "N4552", "N4553", "N4554", "N4555", "N4556", "N4557", "N4558", "N4559", "N4560", "N4561", "N4562", "N4563", "N4564", "N4565", "N4566", "N4567", "N4568", "N4569", "N4570", "N4571", "N4572", "N4573", "N4574", "N4575", "N4576", "N4577", "N4578", "N4579", "N4580", "N4581", "N4582", "N4583", "N4584", "N4585", "N4586", "N4587", "N4588", "N4589", "N4590", "N4591", "N4592", "N4593", "N4594", "N4595", "N4596", "N4597", "N4598", "N4599", "N4600", "N4601", "N4602", "N4603", "N4604", "N4605", "N4606", "N4607", "N4608", "N4609", "N4610", "N4611", "N4612", "N4613", "N4614", "N4615", "N4616", "N4617", "N4618", "N4619", "N4620", "N4621", "N4622", "N4623", "N4624", "N4625", "N4626", "N4627", "N4628", "N4629", "N4630", "N4631", "N4632", "N4633", "N4634", "N4635", "N4636", "N4637", "N4638", "N4639", "N4640", "N4641", "N4642", "N4643", "N4644", "N4645", "N4646", "N4647", "N4648", "N4649", "N4650", "N4651", "N4652", "N4653", "N4654", "N4655", "N4656", "N4657", "N4658", "N4659", "N4660", "N4661", "N4662", "N4663", "N4664", "N4665", "N4666", "N4667", "N4668", "N4669", "N4670", "N4671", "N4672", "N4673", "N4674", "N4675", "N4676", "N4677", "N4678", "N4679", "N4680", "N4681", "N4682", "N4683", "N4684", "N4685", "N4686", "N4687", "N4688", "N4689", "N4690", "N4691", "N4692", "N4693", "N4694", "N4695", "N4696", "N4697", "N4698", "N4699", "N4700", "N4701", "N4702", "N4703", "N4704", "N4705", "N4706", "N4707", "N4708", "N4709", "N4710", "N4711", "N4712", "N4713", "N4714", "N4715", "N4716", "N4717", "N4718", "N4719", "N4720", "N4721", "N4722", "N4723", "N4724", "N4725", "N4726", "N4727", "N4728", "N4729", "N4730", "N4731", "N4732", "N4733", "N4734", "N4735", "N4736", "N4737", "N4738", "N4739", "N4740", "N4741", "N4742", "N4743", "N4744", "N4745", "N4746", "N4747", "N4748", "N4749", "N4750", "N4751", "N4752", "N4753", "N4754", "N4755", "N4756", "N4757", "N4758", "N4759", "N4760", "N4761", "N4762", "N4763", "N4764", "N4765", "N4766", "N4767", "N4768", "N4769", "N4770", "N4771", "N4772", "N4773", "N4774", "N4775", "N4776", "N4777", "N4778", "N4779", "N4780", "N4781", "N4782", "N4783", "N4784", "N4785", "N4786", "N4787", "N4788", "N4789", "N4790", "N4791", "N4792", "N4793", "N4794", "N4795", "N4796", "N4797", "N4798", "N4799", "N4800", "N4801", "N4802", "N4803", "N4804", "N4805", "N4806", "N4807", "N4808", "N4809", "N4810", "N4811", "N4812", "N4813", "N4814", "N4815", "N4816", "N4817", "N4818", "N4819", "N4820", "N4821", "N4822", "N4823", "N4824", "N4825", "N4826", "N4827", "N4828", "N4829", "N4830", "N4831", "N4832", "N4833", "N4834", "N4835", "N4836", "N4837", "N4838", "N4839", "N4840", "N4841", "N4842", "N4843", "N4844", "N4845", "N4846", "N4847", "N4848", "N4849", "N4850", "N4851", "N4852", "N4853", "N4854", "N4855", "N4856", "N4857", "N4858", "N4859", "N4860", "N4861", "N4862", "N4863", "N4864", "N4865", "N4866", "N4867", "N4868", "N4869", "N4870", "N4871", "N4872", "N4873", "N4874", "N4875", "N4876", "N4877", "N4878", "N4879", "N4880", "N4881", "N4882", "N4883", "N4884", "N4885", "N4886", "N4887", "N4888", "N4889", "N4890", "N4891", "N4892", "N4893", "N4894", "N4895", "N4896", "N4897", "N4898", "N4899", "N4900", "N4901", "N4902", "N4903", "N4904", "N4905", "N4906", "N4907", "N4908", "N4909", "N4910", "N4911", "N4912", "N4913", "N4914", "N4915", "N4916", "N4917", "N4918", "N4919", "N4920", "N4921", "N4922", "N4923", "N4924", "N4925", "N4926", "N4927", "N4928", "N4929", "N4930", "N4931", "N4932", "N4933", "N4934", "N4935", "N4936", "N4937", "N4938", "N4939", "N4940", "N4941", "N4942", "N4943", "N4944", "N4945", "N4946", "N4947", "N4948", "N4949", "N4950", "N4951", "N4952", "N4953", "N4954", "N4955", "N4956", "N4957", "N4958", "N4959", "N4960", "N4961", "N4962", "N4963", "N4964", "N4965", "N4966", "N4967", "N4968", "N4969", "N4970", "N4971", "N4972", "N4973", "N4974", "N4975", "N4976", "N4977", "N4978", "N4979", "N4980", "N4981", "N4982", "N4983", "N4984", "N4985", "N4986", "N4987", "N4988", "N4989", "N4990", "N4991", "N4992", "N4993", "N4994", "N4995", "N4996", "N4997", "N4998", "N4999"], not ready
    "#]],
    );
}
