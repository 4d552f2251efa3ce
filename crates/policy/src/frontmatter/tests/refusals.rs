//! What is not taken, at which place, and in which words.

use super::*;

/// Each frontmatter with the line, the column (0 for none) and a part of the message.
#[track_caller]
pub(super) fn check(rows: &[(&str, usize, usize, &str)]) {
    for (text, line, column, part) in rows {
        let failure = failure(&lua(text));
        assert!(failure.message.contains(part), "{text}\n{failure}");
        let place = (failure.line, failure.column.unwrap_or_default());
        assert_eq!(place, (*line, *column), "{text}\n{failure}");
        assert!(
            failure
                .message
                .starts_with(&format!("frontmatter line {line}: ")),
            "{failure}"
        );
    }
}

#[test]
fn a_misspelt_tool_is_named_with_what_was_meant() {
    let failure = failure(&lua("flemma.opt.tools = { \"bsah\" }"));
    assert_eq!(
        failure.message,
        "frontmatter line 2: no tool named \"bsah\". Did you mean \"bash\"? Tools: bash, calculator, calculator_async, edit, read, write."
    );
    assert_eq!((failure.line, failure.column), (2, Some(23)));
}

#[test]
fn names_that_do_not_exist() {
    check(&[
        (
            "\nflemma.opt.tools:remove('calculater')",
            3,
            26,
            "Did you mean \"calculator\"?",
        ),
        (
            "flemma.opt.tools.auto_approve = {\n  'read',\n  '$readnly',\n}",
            4,
            4,
            "no preset named \"$readnly\". Did you mean \"$readonly\"? Presets: $default, $readonly.",
        ),
        (
            "flemma.opt.tools = flemma.opt.tools + '$default'",
            2,
            40,
            "no preset named \"$default\".",
        ),
        (
            "flemma.opt.thinkng = 'low'",
            2,
            12,
            "There is no option \"thinkng\". Did you mean \"thinking\"?",
        ),
        (
            "local x = flemma.opt.antropic.thinking_budget",
            2,
            22,
            "Did you mean \"anthropic\"?",
        ),
        (
            "flemma.opt.tools.auto_aprove = {}",
            2,
            18,
            "There is no option \"tools.auto_aprove\". Did you mean \"auto_approve\"?",
        ),
        (
            "flemma.opt.tools.require_approval = false",
            2,
            18,
            "tools.require_approval can only be set in setup() or the configuration file.",
        ),
        (
            "flemma.opt.model = 7",
            2,
            0,
            "model is 7; it must be a string.",
        ),
        (
            "flemma.opt.model = '$fsat'",
            2,
            21,
            "Did you mean \"$fast\"?",
        ),
        (
            "flemma.opt.provider = 'antropic'",
            2,
            24,
            "Did you mean \"anthropic\"?",
        ),
    ]);
}

#[test]
fn values_that_do_not_fit() {
    check(&[
        (
            "flemma.opt.thinking = 'hihg'",
            2,
            24,
            "thinking is \"hihg\"; it must be \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\" or \"max\", a whole number from 0 or false. Did you mean \"high\"?",
        ),
        ("flemma.opt.thinking = 1e300", 2, 0, "thinking is 1e+300"),
        ("flemma.opt.thinking = 1.5", 2, 0, "thinking is 1.5"),
        (
            "flemma.opt.max_tokens = 2 ^ 52",
            2,
            0,
            "max_tokens is 4503599627370496",
        ),
        (
            "flemma.opt.anthropic.thinking_budget = 0 / 0",
            2,
            0,
            "thinking_budget cannot be the number NaN",
        ),
        (
            "flemma.opt.timeout = math.huge",
            2,
            0,
            "timeout cannot be the number inf",
        ),
        ("flemma.opt.thinking = true", 2, 0, "thinking is true"),
        (
            "flemma.opt.temperature = 2.1",
            2,
            0,
            "it must be a number from 0 to 2",
        ),
        (
            "flemma.opt.temperature = 0/0",
            2,
            0,
            "cannot be the number NaN",
        ),
        ("flemma.opt.max_tokens = 0", 2, 0, "\"50%\""),
        ("flemma.opt.max_tokens = 1.5", 2, 0, "max_tokens is 1.5"),
        ("flemma.opt.max_tokens = '101%'", 2, 26, "a share such as"),
        (
            "flemma.opt.timeout = -1",
            2,
            0,
            "it must be a number from 1 to 86400",
        ),
        (
            "flemma.opt.cache_retention = 'forever'",
            2,
            31,
            "\"short\" or \"long\"",
        ),
        (
            "flemma.opt.tools.autopilot = 'off'",
            2,
            31,
            "it must be true or false",
        ),
        (
            "flemma.opt.tools = 'bash'",
            2,
            21,
            "it must be a list of names",
        ),
        (
            "flemma.opt.tools = { 3 }",
            2,
            0,
            "tools is [3]; it must be a list of names",
        ),
        (
            "flemma.opt.tools = print",
            2,
            0,
            "tools cannot be a function",
        ),
        ("flemma.opt.tools:append(nil)", 2, 0, "tools takes names"),
        (
            "flemma.opt.tools.auto_approve = true",
            2,
            0,
            "tools.auto_approve is true",
        ),
        (
            "flemma.opt.anthropic = 3",
            2,
            0,
            "anthropic is 3; it must be a table",
        ),
        (
            "flemma.opt.openai.thinking = 'x'",
            2,
            31,
            "openai.thinking is \"x\"",
        ),
        (
            "flemma.opt.sandbox = 'off'",
            2,
            23,
            "sandbox.enabled is \"off\"; it must be true or false",
        ),
        (
            "flemma.opt.sandbox.enabled = 1",
            2,
            0,
            "sandbox.enabled is 1",
        ),
        (
            "local t = {}\nt.t = t\nflemma.opt.sandbox = t",
            4,
            0,
            "holds itself",
        ),
    ]);
}

#[test]
fn values_that_fit() {
    for text in [
        "flemma.opt.thinking = false",
        "flemma.opt.thinking = 4096",
        "flemma.opt.max_tokens = '50%'",
        "flemma.opt.temperature = 0",
        "flemma.opt.temperature = 2",
        "flemma.opt.anthropic = { thinking_budget = 1024, thinking = 'max' }",
        "flemma.opt.vertex.location = 'europe-west1'",
        "flemma.opt.sandbox.backend = 'required'",
        "flemma.opt.sandbox = {}",
    ] {
        overrides(text);
    }
}

#[test]
fn programs_modules_addresses_and_secrets_never_come_from_a_document() {
    for text in [
        "flemma.opt.sandbox.backends.bwrap.path = './evil'",
        "flemma.opt.sandbox = { backends = { bwrap = { path = './evil' } } }",
        "flemma.opt.sandbox.backend = './evil'",
        "flemma.opt.tools.bash.env = {LD_PRELOAD='./x.so', PATH='.'}",
        "flemma.opt.tools.bash = { shell = './evil' }",
        "flemma.opt.tools.auto_approve = {'evil.module.path'}",
        "flemma.opt.tools:append('evil.module')",
        "flemma.opt.anthropic.base_url = 'https://evil.example'",
        "flemma.opt.anthropic = { base_url = 'https://evil.example' }",
        "flemma.opt.openai = { more = { api_key = 'x' } }",
        "flemma.opt.openai.api_key = 'x'",
        "flemma.opt.openai.ca_file = './evil.pem'",
        "flemma.opt.vertex.location = 'evil.example/x'",
        "flemma.opt.host = { path = './evil' }",
        "flemma.opt.mcp = {}",
        "flemma.opt.trust = {}",
        "flemma.opt['tools.auto_approve'] = { 'bash' }",
        "flemma.opt.tools['bash.env'] = { PATH = '.' }",
        "flemma.opt.sandbox['policy.network'] = true",
    ] {
        let message = failure(&lua(text)).message;
        let says = [
            "from a document",
            "can only be set in setup() or the configuration file",
            "it must be",
            "There is no option",
        ];
        assert!(
            says.iter().any(|it| message.contains(it)),
            "{text}\n{message}"
        );
    }
}

#[test]
fn a_function_in_setup_has_no_list_to_change() {
    let known = Known {
        auto_approve: None,
        ..known()
    };
    let failure = |text: &str| evaluate(&lua(text), &known).unwrap_err().message;
    for text in [
        "flemma.opt.tools.auto_approve:append('bash')",
        "flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + 'bash'",
    ] {
        assert!(failure(text).contains("is a function in setup()"), "{text}");
    }
    let assigned =
        "flemma.opt.tools.auto_approve = {'read'}\nflemma.opt.tools.auto_approve:append('bash')";
    assert!(evaluate(&lua(assigned), &known).is_ok());
}
