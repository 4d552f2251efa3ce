//! The list that decides about calls, functions, and models, letter by letter.

use super::*;

/// A user whose own rules are a function.
fn with_function() -> Known {
    Known {
        auto_approve: None,
        ..known()
    }
}

fn list(names: &[&str]) -> Option<AutoApprove> {
    Some(AutoApprove::List {
        names: names.iter().map(|it| (*it).to_owned()).collect(),
        exclusions: Vec::new(),
    })
}

#[test]
fn a_list_can_be_assigned_to_the_other_option() {
    let text = "flemma.opt.tools = {'read'}\nflemma.opt.tools.auto_approve = flemma.opt.tools";
    let overrides = overrides(text);
    assert_eq!(overrides.tools.unwrap(), ["read"]);
    assert_eq!(overrides.auto_approve, list(&["read"]));
}

#[test]
fn a_name_of_the_users_own_list_needs_no_tool() {
    let known = Known {
        auto_approve: Some(vec!["later".to_owned(), "read".to_owned()]),
        ..known()
    };
    let remove = |name: &str| {
        let text = format!("flemma.opt.tools.auto_approve:remove('{name}')");
        evaluate(&lua(&text), &known)
    };
    assert!(remove("later").is_ok());
    assert!(
        remove("never")
            .unwrap_err()
            .message
            .contains("no tool named")
    );
}

#[test]
fn a_function_can_be_read_back_and_replaced() {
    let text = "flemma.opt.tools.auto_approve = function() return 'mine' end\n\
                f = flemma.opt.tools.auto_approve";
    let known = with_function();
    for known in [&known, &super::known()] {
        let evaluated = evaluate(&lua(text), known).unwrap();
        assert_eq!(
            evaluated.expression("f()"),
            Ok(Expansion::Text("mine".into()))
        );
    }
    let replaced = format!("{text}\nflemma.opt.tools.auto_approve = {{'read'}}");
    assert_eq!(overrides(&replaced).auto_approve, list(&["read"]));
}

#[test]
fn in_json_a_list_replaces_the_users_function_and_nothing_changes_it() {
    let of = |options: &str| {
        let text = format!("{{\"flemma\": {{\"tools\": {options}}}}}");
        let evaluated = evaluate(&json_source(&text), &with_function());
        evaluated.map(|it| it.overrides).map_err(|it| it.message)
    };
    let set = of(r#"{"auto_approve": {"$set": ["read"]}}"#).unwrap();
    assert_eq!(set.auto_approve, list(&["read"]));
    let set = of(r#"{"auto_approve": ["read"]}"#).unwrap();
    assert_eq!(set.auto_approve, list(&["read"]));
    for change in [
        r#"{"auto_approve": {"$append": ["read"]}}"#,
        r#"{"$set": ["bash"], "auto_approve": {"$append": ["read"]}}"#,
        r#"{"$append": ["bash"], "auto_approve": {"$remove": ["read"]}}"#,
    ] {
        let message = of(change).unwrap_err();
        assert!(message.contains("is a function in setup()"), "{message}");
    }
}

#[test]
fn in_json_options_of_the_tools_are_not_below_their_list() {
    let text = r#"{"flemma": {"tools": {"auto_approve": {"autopilot": true}}}}"#;
    let message = failure(&json_source(text)).message;
    assert!(
        message.contains("no option \"tools.auto_approve.autopilot\""),
        "{message}"
    );
}

#[test]
fn in_json_the_same_word_may_occur_twice_in_a_list() {
    let text = r#"{"words": ["a", "a"], "flemma": {"tools": ["read", "read"]}}"#;
    let evaluated = evaluated(&json_source(text));
    assert_eq!(
        evaluated.expression("#words"),
        Ok(Expansion::Text("2".into()))
    );
    assert_eq!(evaluated.overrides.tools.unwrap(), ["read"]);
}

#[test]
fn the_name_of_a_model_is_not_empty_and_not_endless() {
    for (code, expected) in [
        ("''", "model is \"\"; it must be the name of a model."),
        ("'  '", "model is \"  \"; it must be the name of a model."),
        ("('x'):rep(129)", "it must be the name of a model."),
    ] {
        let message = failure(&lua(&format!("flemma.opt.model = {code}"))).message;
        assert!(message.contains(expected), "{message}");
    }
    for code in ["('x'):rep(128)", "'m'", "'$fast'"] {
        overrides(&format!("flemma.opt.model = {code}"));
    }
}

#[test]
fn what_is_no_plain_value_is_no_option() {
    for (text, expected) in [
        (
            "flemma.opt.tools = include('x')",
            "tools cannot be a userdata.",
        ),
        (
            "flemma.opt.thinking = flemma.opt.sandbox",
            "thinking cannot be a userdata.",
        ),
        ("flemma.opt[1] = 2", "an option must have a short name."),
    ] {
        let message = failure(&lua(text)).message;
        assert_eq!(message, format!("frontmatter line 2: {expected}"));
    }
    let text = "ok, why = pcall(function() flemma.opt.x = 1 end)";
    let why = evaluated(&lua(text)).expression("tostring(why)");
    let Ok(Expansion::Text(why)) = why else {
        panic!("{why:?}")
    };
    assert!(why.contains("There is no option \"x\"."), "{why}");
}

#[test]
fn an_error_without_words_has_the_line_on_which_it_was_raised() {
    for code in ["error({})", "error()", "local x = nil + 1"] {
        let failure = failure(&lua(&format!("\n\n{code}")));
        assert_eq!(failure.line, 4, "{failure}");
        assert_eq!(failure.to_string(), failure.message);
    }
}

#[test]
fn an_error_in_an_expression_has_no_line_of_the_frontmatter() {
    let evaluated = evaluated(&lua("x = 1"));
    for code in ["1 +", "nil .. 'a'"] {
        let message = evaluated.expression(code).unwrap_err();
        assert!(!message.contains("line"), "{message}");
    }
}

#[test]
fn only_a_name_that_has_no_value_is_a_slip() {
    let evaluated = evaluated(&lua("x = {}"));
    for (code, is_slip) in [
        ("x.my_field", true),
        ("_x1", true),
        ("(nil)", false),
        ("x['y']", false),
        ("x.y or nil", false),
    ] {
        let value = evaluated.expression(code);
        assert_eq!(value.is_err(), is_slip, "{code}: {value:?}");
    }
}

#[test]
fn the_engine_is_shown_without_what_is_in_it() {
    let shown = format!("{:?}", evaluated(&lua("secret = 's3cret'")));
    assert!(shown.contains("Vm") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn the_place_of_a_frontmatter_is_that_in_its_file() {
    let text = chat::text::Text::from("```lua\nx = 1\n```\n\n@You:\nHi\n");
    let document = Document::parse(&text);
    let source = Source::of(&document, Some(Path::new("/a.chat"))).unwrap();
    assert_eq!((source.language.as_str(), source.first_line), ("lua", 2));
    assert_eq!(source.text.trim_end(), "x = 1");
    assert_eq!(source.file.as_deref(), Some(Path::new("/a.chat")));
    let without = chat::text::Text::from("@You:\nHi\n");
    assert!(Source::of(&Document::parse(&without), None).is_none());
}
