//! Files as people write them, and what is said about those that cannot be used.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::{fit, schema, *};

/// An example of the specification of script tools.
const GREETING: &str = r#"name = "my_custom_tool"
description = "A clear description of what this tool does"
keywords = ["keyword1", "keyword2", "keyword3"]
script = "script.py"

[parameters.name]
type = "string"
description = "The name of the person to greet"
required = true

[parameters.count]
type = "number"
description = "Number of times to repeat the greeting"
required = false

[parameters.uppercase]
type = "boolean"
description = "Whether to output in uppercase"
required = false
"#;

const SHORT: &str = "description = \"Does.\"\nscript = \"s.py\"\n";

#[test]
fn the_documents_file_becomes_a_schema_in_its_order() {
    let manifest = parse(GREETING, "folder").unwrap();
    assert_eq!(manifest.name, "my_custom_tool");
    assert_eq!(manifest.keywords, ["keyword1", "keyword2", "keyword3"]);
    assert_eq!(manifest.script, "script.py");
    let schema = schema(&manifest.parameters);
    let properties: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(properties, ["name", "count", "uppercase"]);
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(
        schema["properties"]["count"],
        json!({"type": "number", "description": "Number of times to repeat the greeting"})
    );
}

#[test]
fn required_parameters_stand_in_the_order_of_the_file() {
    let parameter = |name: &str| {
        format!("[parameters.{name}]\ntype = \"number\"\ndescription = \"d\"\nrequired = true\n")
    };
    let text = format!(
        "{SHORT}{}{}{}",
        parameter("z"),
        parameter("a"),
        parameter("m")
    );
    let manifest = parse(&text, "t").unwrap();
    assert_eq!(
        schema(&manifest.parameters)["required"],
        json!(["z", "a", "m"])
    );
}

#[test]
fn without_a_name_the_folders_is_the_tools() {
    assert_eq!(parse(SHORT, "greet").unwrap().name, "greet");
    assert_eq!(parse(SHORT, "a b").unwrap_err().line, 1);
}

#[test]
fn numbers_are_floats_integers_are_none_and_defaults_are_filled_in() {
    let text = format!(
        "{SHORT}[parameters.n]\ntype = \"number\"\ndescription = \"d\"\n[parameters.i]\ntype = \"integer\"\n\
         description = \"d\"\n[parameters.u]\ntype = \"string\"\ndescription = \"d\"\ndefault = \"celsius\"\n\
         enum = [\"celsius\", \"kelvin\"]\n[parameters.l]\ntype = \"array\"\nitems = \"number\"\ndescription = \"d\"\n"
    );
    let parameters = parse(&text, "t").unwrap().parameters;
    let fitted = fit(&parameters, &json!({"n": 5, "i": 3.0, "l": [1, 2.5]})).unwrap();
    assert_eq!(
        serde_json::to_string(&fitted).unwrap(),
        r#"{"n":5.0,"i":3,"u":"celsius","l":[1.0,2.5]}"#
    );
    assert_eq!(fit(&parameters, &json!({})).unwrap().len(), 1);
}

#[test]
fn arguments_that_do_not_fit_are_named_and_nothing_is_coerced() {
    let parameters = parse(GREETING, "t").unwrap().parameters;
    for (input, said) in [
        (json!({}), "\"name\" is a required property"),
        (json!({"name": 1}), "name: 1 is not of type \"string\""),
        (json!({"name": "A", "count": "2"}), "count:"),
        (json!({"name": "A", "uppercase": 1}), "uppercase:"),
        (json!({"name": "A", "more": 1}), "more"),
    ] {
        let error = fit(&parameters, &input).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_a_way_out() {
    let below = |rest: &str| format!("{SHORT}{rest}");
    let parameter = |rest: &str| below(&format!("[parameters.p]\n{rest}\n"));
    for (text, line, said) in [
        ("description = \n".to_owned(), 1, "This is not TOML: "),
        (below("a = 1\na = 2\n"), 4, "This is not TOML: "),
        (
            "script = \"s\"\n".to_owned(),
            1,
            "\"description\" is missing: say what",
        ),
        (
            "description = \"d\"\n".to_owned(),
            1,
            "\"script\" is missing: name the file",
        ),
        (
            below("keyword = [\"x\"]\n"),
            3,
            "There is no field \"keyword\". Did you mean \"keywords\"?",
        ),
        (
            below("keywords = \"x\"\n"),
            3,
            "\"keywords\" must be a list of text",
        ),
        (
            below("timeout = 0\n"),
            3,
            "The timeout is 0. It must be seconds",
        ),
        (
            below("name = \"../../bash\"\n"),
            3,
            "\"../../bash\" cannot be a tool's name",
        ),
        (below("name = 5\n"), 3, "\"name\" must be text in quotes"),
        (
            below("[parameters]\np = 1\n"),
            4,
            "\"p\" must be a table, as [parameters.p]",
        ),
        (
            parameter("description = \"d\""),
            3,
            "\"type\" is missing: write type",
        ),
        (
            parameter("type = \"string\""),
            3,
            "\"description\" is missing",
        ),
        (
            parameter("type = \"nubmer\"\ndescription = \"d\""),
            4,
            "Did you mean \"number\"?",
        ),
        (
            parameter("type = \"date\"\ndescription = \"d\""),
            4,
            "There is no type \"date\". Types: string,",
        ),
        (
            parameter("type = \"string\"\ndescription = \"d\"\nrequired = \"yes\""),
            6,
            "must be true or false",
        ),
        (
            parameter("type = \"string\"\ndescription = \"d\"\nrequird = true"),
            6,
            "Did you mean \"required\"?",
        ),
        (
            parameter("type = \"string\"\ndescription = \"d\"\ndefault = 1"),
            6,
            "The default does not fit",
        ),
        (
            parameter("type = \"string\"\ndescription = \"d\"\nitems = \"string\""),
            6,
            "Only an \"array\"",
        ),
        (
            parameter("type = \"string\"\ndescription = \"d\"\nenum = 1"),
            6,
            "\"enum\" must be a list",
        ),
        (
            below("[parameters.\"a\\u202e\"]\ntype = \"string\"\n"),
            3,
            "The parameter's name has an invisible",
        ),
    ] {
        let wrong = parse(&text, "t").unwrap_err();
        assert!(
            wrong.what.contains(said) && wrong.line == line,
            "{text}\n{wrong:?}"
        );
    }
}

#[test]
fn a_script_stays_in_its_folder() {
    for script in ["../s.py", "/bin/sh", "a/../../s.py", ""] {
        let text = format!("description = \"d\"\nscript = \"{script}\"\n");
        assert_eq!(parse(&text, "t").unwrap_err().line, 2, "{script}");
    }
    assert!(parse("description = \"d\"\nscript = \"./bin/s.py\"\n", "t").is_ok());
}

#[test]
fn a_text_that_people_cannot_see_is_refused() {
    for hidden in ["\u{e0041}", "\u{202e}", "\\u001b[31m", "\u{200b}"] {
        let text = format!("description = \"d{hidden}\"\nscript = \"s\"\n");
        let wrong = parse(&text, "t").unwrap_err();
        assert!(wrong.what.contains("an invisible character"), "{wrong:?}");
    }
    let long = format!("description = \"{}\"\nscript = \"s\"\n", "x".repeat(9000));
    assert!(parse(&long, "t").unwrap_err().what.contains("longer than"));
}

#[test]
fn fields_of_other_programs_are_left_alone() {
    let text = format!(
        "{SHORT}discoverable = true\n[parameters.p]\ntype = \"string\"\ndescription = \"d\"\nui = 1\n"
    );
    assert!(parse(&text, "t").is_ok());
}

#[test]
fn a_tool_on_demand_is_not_offered() {
    let offered = |more: &str| parse(&format!("{SHORT}{more}"), "t").map(|it| it.offered);
    assert_eq!(offered(""), Ok(true));
    assert_eq!(offered("visibility = \"native\"\n"), Ok(true));
    assert_eq!(offered("visibility = \"ondemand\"\n"), Ok(false));
    let wrong = offered("visibility = \"hidden\"\n").unwrap_err();
    assert!(wrong.what.contains("\"native\""), "{wrong:?}");
    assert!(offered("visibility = true\n").is_err());
}

#[test]
fn two_parameters_never_share_a_variable() {
    let with = |names: [&str; 2]| {
        let table =
            |name| format!("[parameters.\"{name}\"]\ntype = \"string\"\ndescription = \"d\"\n");
        parse(
            &format!("{SHORT}{}{}", table(names[0]), table(names[1])),
            "t",
        )
    };
    for names in [["a-b", "a_b"], ["Name", "name"], ["a.b", "a b"]] {
        let wrong = with(names).unwrap_err();
        assert!(wrong.what.contains("would both be $ARG_"), "{wrong:?}");
        assert!(wrong.what.contains(names[0]) && wrong.what.contains(names[1]));
    }
    assert!(with(["a_b", "ab"]).is_ok());
}

#[test]
fn numbers_reach_the_script_unchanged() {
    let tool = parse(
        &format!(
            "{SHORT}[parameters.n]\ntype = \"number\"\ndescription = \"d\"\n\
             [parameters.l]\ntype = \"array\"\nitems = \"number\"\ndescription = \"d\"\n"
        ),
        "t",
    )
    .unwrap();
    for exact in [
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551615",
    ] {
        let input: Value =
            serde_json::from_str(&format!("{{\"n\":{exact},\"l\":[{exact}]}}")).unwrap();
        let got = fit(&tool.parameters, &input).unwrap();
        assert_eq!(got["n"].to_string(), exact);
        assert_eq!(got["l"].to_string(), format!("[{exact}]"));
    }
    let got = fit(&tool.parameters, &json!({"n": 9_007_199_254_740_992_u64})).unwrap();
    assert!(got["n"].is_f64());
}

#[test]
fn numbers_without_end_are_refused() {
    for number in ["inf", "-inf", "nan"] {
        let timeout = parse(&format!("{SHORT}timeout = {number}\n"), "t");
        assert!(timeout.is_err(), "{number}");
        let default = parse(
            &format!(
                "{SHORT}[parameters.n]\ntype = \"number\"\ndescription = \"d\"\ndefault = {number}\n"
            ),
            "t",
        );
        assert!(default.is_err(), "{number}");
    }
}
