//! What the example prints: one call in each stage, and denied by each.

use expect_test::expect;

#[expect(dead_code, reason = "the test calls what `main` calls")]
#[path = "../../examples/agent_loop.rs"]
mod example;

#[tokio::test]
async fn the_example_shows_each_stage() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut out = Vec::new();
    example::run(dir.path(), &mut out).await.expect("it runs");
    let shown = String::from_utf8(out).expect("a text");
    let shown = shown.replace(&*dir.path().to_string_lossy(), "DIR");
    let shown = shown.replace(env!("CARGO_MANIFEST_DIR"), "CRATE");
    expect![[r#"
        stages: validate → permission → reverse thinking → checkpoint → audit → heed verdict → execute → output guard → bound

        turn 1
          echo_input {"text": "what is there"}
            would run: cat
            validate          went on
            permission        allow: tool echo_input: echo_input (allow, operator, the program)
            reverse thinking  not asked
            checkpoint        went on
            audit             went on
            heed verdict      went on
            execute           ran on local, 25 bytes of output
            output guard      replaced 0 secrets
            bound             25 bytes for the model
            result: {"text": "what is there"}
            exit code: 0
            begin: {"caller":"agent","tool":"echo_input","origin":"file CRATE/examples/tools.json","operation":"execute","input_sha256":"2eb8146ecc4b7a781002f1b77706e28f62a7b692582e4bba3e824f8dc929fade","input_bytes":25,"decision":{"verdict":"allow","rule":{"text":"echo_input","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"user_hook","sandbox":["none"]}
            end: {"outcome":"ok","output_bytes":25,"backend":"local","sandbox":["none"]}
          nowhere {}
            no result: there is no tool "nowhere"
            exit code: 4
            begin: {"caller":"agent","tool":"nowhere","operation":"invoke","input_sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","input_bytes":2}
            end: {"outcome":"not_tried","error":"not_found"}

        turn 2
          site:deploy {"version": 7}
            would run: sh -c echo deployed with ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8
            validate          went on
            permission        allow: `echo deployed with ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8`: Bash(echo:*) (allow, operator, the program)
            reverse thinking  go on: the former version can be put back
            checkpoint        went on
            audit             went on
            heed verdict      went on
            execute           ran on local, 55 bytes of output
            output guard      replaced 2 secrets
            bound             54 bytes for the model
            result: deployed with [redacted: github-token, 40 characters]
            exit code: 0
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"bf32a9b6239d24409778a030d085661cdbbe11a0b88302fc6da6136cc3ab54db","input_bytes":14,"decision":{"verdict":"allow","rule":{"text":"Bash(echo:*)","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool","sandbox":["none"],"challenge":{"by":{"hidden_assumptions":[],"failure_scenarios":["the new version cannot read the old data"],"verdict":"go on","verdict_reason":"the former version can be put back"}},"checkpoint":"once"}
            end: {"outcome":"ok","output_bytes":54,"backend":"local","sandbox":["none"],"secrets":["github-token","github-token"]}

        The same call, denied

          BadInput: by the stage validate
            result: invalid input: /version: expected an integer, got the string "7"
            exit code: 3
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"386c33251c74e494e508d2aaad97c60ddea66b04d39dd3752575d3a7b09a7d51","input_bytes":16,"class":"plugin_tool","sandbox":["none"]}
            end: {"outcome":"failed","output_bytes":64,"failure":{"kind":"bad_input"}}

          DenyRule: by the stage permission
            no result: the call of "site:deploy" was refused by the stage "permission": the rules deny it: tool site:deploy: site:deploy (deny, operator, the program)
            exit code: 5
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"bf32a9b6239d24409778a030d085661cdbbe11a0b88302fc6da6136cc3ab54db","input_bytes":14,"decision":{"verdict":"deny","rule":{"text":"site:deploy","effect":"deny","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool","sandbox":["none"]}
            end: {"outcome":"refused","stage":"permission","rule":{"text":"site:deploy","effect":"deny","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}

          NotReleased: by the stage checkpoint
            no result: the call of "site:deploy" was refused by the stage "checkpoint": it was not released: the operator said no
            exit code: 5
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"bf32a9b6239d24409778a030d085661cdbbe11a0b88302fc6da6136cc3ab54db","input_bytes":14,"decision":{"verdict":"allow","rule":{"text":"Bash(echo:*)","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool","sandbox":["none"],"challenge":{"by":{"hidden_assumptions":[],"failure_scenarios":["the new version cannot read the old data"],"verdict":"go on","verdict_reason":"the former version can be put back"}},"checkpoint":"no"}
            end: {"outcome":"refused","stage":"checkpoint"}

          NoLog: by the stage audit
            no result: the call of "site:deploy" was refused by the stage "audit": it cannot be recorded: refused to use DIR/NoLog/.local/state/flyto/audit: it is a link or no directory
            exit code: 5
            no record: refused to use DIR/NoLog/.local/state/flyto/audit: it is a link or no directory

          AdvisedAgainst: by the stage heed verdict
            no result: the call of "site:deploy" was refused by the stage "heed verdict": the challenger advises against it: the former version cannot be put back
            exit code: 5
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"bf32a9b6239d24409778a030d085661cdbbe11a0b88302fc6da6136cc3ab54db","input_bytes":14,"decision":{"verdict":"allow","rule":{"text":"Bash(echo:*)","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool","sandbox":["none"],"challenge":{"by":{"hidden_assumptions":[],"failure_scenarios":["the new version cannot read the old data"],"verdict":"stop","verdict_reason":"the former version cannot be put back"}},"checkpoint":"once"}
            end: {"outcome":"refused","stage":"heed verdict"}

          NoProgram: by the stage execute
            no result: plugin tool "site:deploy" exec failed: failed to start "sh": no such program in PATH=/nowhere
            exit code: 7
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"bf32a9b6239d24409778a030d085661cdbbe11a0b88302fc6da6136cc3ab54db","input_bytes":14,"decision":{"verdict":"allow","rule":{"text":"Bash(echo:*)","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool","sandbox":["none"],"challenge":{"by":{"hidden_assumptions":[],"failure_scenarios":["the new version cannot read the old data"],"verdict":"go on","verdict_reason":"the former version can be put back"}},"checkpoint":"once"}
            end: {"outcome":"not_tried","error":"program_missing"}

          SecretWithheld: by the stage output guard
            no result: the call of "site:deploy" was refused by the stage "output guard": the tool has run, and its result is withheld: output, line 1: GitHub token (github-token, block): ghp_… (40 characters)
            exit code: 5
            begin: {"caller":"agent","tool":"site:deploy","origin":"plugin site","operation":"invoke","input_sha256":"bf32a9b6239d24409778a030d085661cdbbe11a0b88302fc6da6136cc3ab54db","input_bytes":14,"decision":{"verdict":"allow","rule":{"text":"Bash(echo:*)","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool","sandbox":["none"],"challenge":{"by":{"hidden_assumptions":[],"failure_scenarios":["the new version cannot read the old data"],"verdict":"go on","verdict_reason":"the former version can be put back"}},"checkpoint":"once"}
            end: {"outcome":"refused","stage":"output guard","backend":"local","sandbox":["none"],"secrets":["github-token","github-token"]}
    "#]].assert_eq(&shown);
}
