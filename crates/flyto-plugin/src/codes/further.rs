//! What is to be said about the codes behind `NEVER_MATCHES`.

use flyto_diagnostics::CodeInfo;

use crate::codes;

/// Those codes with their explanations.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        codes::MISSPELT_LIST,
        "a list of plugins under a misspelt key",
        "\
`allowed_plugins` and `blocked_plugins` keep plugins out. The section has a key that looks like one
of them and is none, so its names would be passed over and the plugins used. Elsewhere an unknown
key is a warning; here it is an error, and the configuration is not used until it is mended.

Wrong:

    {\"plugins\": {\"enabled\": true, \"block_plugins\": [\"git-tools\"]}}

Right:

    {\"plugins\": {\"enabled\": true, \"blocked_plugins\": [\"git-tools\"]}}
",
    ),
    CodeInfo::new(
        codes::GRANTED_PATH,
        "a granted path that is not absolute",
        "\
`read` and `write` of a grant are paths that a plugin may use, with all that lies below them. They
are absolute, so that they mean the same wherever a program runs; `~` and `~user` stand for home
directories.

Wrong:

    {\"grants\": {\"notes\": {\"write\": [\"notes\"]}}}

Right:

    {\"grants\": {\"notes\": {\"write\": [\"~/notes\"]}}}
",
    ),
];
