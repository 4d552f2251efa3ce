#![allow(clippy::unwrap_used)]

use super::*;
use chat::approval::Decision;

fn with(file: &str, flags: Flags) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, file).unwrap();
    let flags = Flags {
        file: Some(path),
        ..flags
    };
    read(&flags, &Registry::builtin()).map_err(|error| match error {
        ConfigError::Usage(problems) => format!("usage: {}", problems.join(" ")),
        ConfigError::File(problems) => {
            let all = problems.join(" ");
            all.replace(&*folder.path().to_string_lossy(), "")
        }
    })
}

/// Writes a value as TOML does.
fn as_toml(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(name, it)| format!("\"{name}\" = {}", as_toml(it)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[test]
fn the_file_takes_the_options_of_its_scope_and_no_others() {
    let defaults = policy::options::defaults();
    let mut count = 0;
    for (path, option) in policy::options::leaves() {
        let Some(default) = policy::options::at(&defaults, path) else {
            continue;
        };
        let file = format!("{path} = {}\n", as_toml(default));
        let read = with(&file, Flags::default());
        count += 1;
        match read {
            Ok(config) if option.is_in(Scope::ConfigFile) => {
                assert_eq!(config.settings.value(path), default, "{path}");
            }
            Ok(_) => panic!("{path} is not an option of the file"),
            Err(error) => assert!(!option.is_in(Scope::ConfigFile), "{path}: {error}"),
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn a_number_without_an_end_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    for number in ["inf", "-inf", "nan"] {
        std::fs::write(&file, format!("[parameters]\ntimeout = {number}\n")).unwrap();
        let Err(ConfigError::File(problems)) = parse(&file, true) else {
            panic!("{number}");
        };
        assert!(
            problems[0].contains("parameters.timeout is "),
            "{problems:?}"
        );
    }
    std::fs::write(&file, "[parameters]\ntimeout = 1.5\n").unwrap();
    let options = parse(&file, true).unwrap();
    assert_eq!(options, json!({"parameters": {"timeout": 1.5}}));
}

#[test]
fn a_file_takes_the_options_of_setup_and_the_command_line_wins() {
    let file = "provider = \"tutor\"\nmodel = \"m\"\n[parameters]\ntemperature = 0.5\n[tools.autopilot]\nmax_turns = 7\n";
    let flags = Flags {
        provider: Some("openai_compatible".to_owned()),
        max_turns: Some(2),
        ..Flags::default()
    };
    let settings = with(file, flags).unwrap().settings;
    assert_eq!(settings.provider, "openai_compatible");
    assert_eq!(settings.tools.autopilot.max_turns, 2);
    assert_eq!(settings.parameter("x", "temperature"), Some(&json!(0.5)));
}

#[test]
fn another_provider_does_not_get_the_model_of_the_files_own() {
    let model = |file: &str, provider: &str, model: Option<&str>| {
        let flags = Flags {
            provider: Some(provider.to_owned()),
            model: model.map(str::to_owned),
            ..Flags::default()
        };
        with(file, flags).unwrap().settings.model.clone()
    };
    let own = Some("claude-opus-4-1".to_owned());
    for file in [
        "model = \"claude-opus-4-1\"\n",
        "provider = \"anthropic\"\nmodel = \"claude-opus-4-1\"\n",
        "model = \"$deep\"\n[presets]\n\"$deep\" = \"anthropic claude-opus-4-1\"\n",
    ] {
        assert_eq!(model(file, "openai", None), None, "{file}");
        assert_eq!(model(file, "anthropic", None), own, "{file}");
        let other = model(file, "openai", Some("gpt-5"));
        assert_eq!(other.as_deref(), Some("gpt-5"), "{file}");
    }
}

#[test]
fn a_preset_named_on_the_command_line_beats_the_provider_of_the_file() {
    let file = "provider = \"openai\"\n[presets]\n\"$fast\" = \"gemini g-1 thinking=low\"\n";
    let model = Some("$fast".to_owned());
    let flags = Flags {
        model: model.clone(),
        ..Flags::default()
    };
    let settings = with(file, flags).unwrap().settings;
    assert_eq!(
        (settings.provider.as_str(), settings.model.as_deref()),
        ("gemini", Some("g-1"))
    );
    let provider = Some("openai".to_owned());
    let problem = with(
        file,
        Flags {
            model,
            provider,
            ..Flags::default()
        },
    )
    .unwrap_err();
    assert!(
        problem.contains("a preset of gemini, but provider is \"openai\""),
        "{problem}"
    );
}

#[test]
fn without_rules_only_what_changes_nothing_runs() {
    let policy = with("", Flags::default()).unwrap().settings.policy();
    assert_eq!(policy.decide("read"), Some(Decision::Approve));
    assert_eq!(policy.decide("calculator"), Some(Decision::Approve));
    assert_eq!(policy.decide("write"), None);
    let own = "[tools]\nauto_approve = [\"$default\"]\n";
    let policy = with(own, Flags::default()).unwrap().settings.policy();
    assert_eq!(policy.decide("write"), Some(Decision::Approve));
    assert_eq!(policy.decide("calculator"), None);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (file, said) in [
        (
            "modle = \"m\"\n",
            "/config.toml: There is no option \"modle\". Did you mean \"model\"?",
        ),
        (
            "[tools]\nmax_concurrent = \"x\"\n",
            "/config.toml: tools.max_concurrent is \"x\"; it must be a whole number from 0.",
        ),
        ("provider = \n", "/config.toml, line 1: "),
    ] {
        let error = with(file, Flags::default()).unwrap_err();
        assert!(error.starts_with(said), "{error}");
    }
    let approving = |name: &str| Flags {
        approve: vec![name.to_owned()],
        ..Flags::default()
    };
    let error = with("", approving("task")).unwrap_err();
    assert_eq!(
        error,
        "usage: --approve: there is no tool named \"task\". `flemma tools` lists them."
    );
    let server = "[mcp.servers.s]\ncommand = \"true\"\n";
    let approve = with(server, approving("s__tool")).unwrap().approve;
    assert_eq!(approve.decide("s__tool"), Some(Decision::Approve));
    let error = with(server, approving("t__tool")).unwrap_err();
    assert!(error.contains("there is no MCP server \"t\""), "{error}");
    let error = with("", approving("bahs")).unwrap_err();
    assert_eq!(
        error,
        "usage: --approve: unknown name \"bahs\". Did you mean \"bash\"?"
    );
}

#[test]
fn a_name_whose_tool_is_gone_is_left_out_and_stops_nothing() {
    let file = "[tools]\nauto_approve = [\"bashy\", \"read\", \"far_away\"]\n";
    let config = with(file, Flags::default()).unwrap();
    assert_eq!(
        config.settings.policy().decide("read"),
        Some(Decision::Approve)
    );
    assert_eq!(config.settings.policy().decide("bash"), None);
    assert_eq!(config.settings.policy().decide("bashy"), None);
    let [warning] = config.warnings.as_slice() else {
        panic!("{:?}", config.warnings);
    };
    assert!(
        warning.ends_with(
            "tools.auto_approve: unknown name \"bashy\". Did you mean \"bash\"? It is left out."
        ),
        "{warning}"
    );
    // A denial that cannot be read must not mean that nothing is denied.
    let file =
        "[tools]\nauto_approve = [\"read\", \"$x\"]\n[tools.presets.\"$x\"]\ndeny = [\"bsh\"]\n";
    let config = with(file, Flags::default()).unwrap();
    assert_eq!(config.settings.policy().decide("read"), None);
    assert!(!config.warnings.is_empty());
}

#[test]
fn models_can_look_for_tools_whatever_is_listed() {
    let decide = |file: &str| {
        let policy = with(file, Flags::default()).unwrap().settings.policy();
        policy.decide("tool_search")
    };
    let approve = Some(Decision::Approve);
    assert_eq!(
        decide("[tools]\nauto_approve = [\"calculator\"]\n"),
        approve
    );
    assert_eq!(decide("[tools]\nauto_approve = []\n"), None);
    let denied = "[tools]\nauto_approve = [\"read\", \"$x\"]\n[tools.presets.\"$x\"]\ndeny = [\"tool_search\"]\n";
    assert_eq!(decide(denied), Some(Decision::Deny));
}

#[test]
fn a_preset_of_the_file_can_be_approved() {
    let file = "[tools.presets.\"$mine\"]\napprove = [\"bash\"]\ndeny = [\"write\"]\n";
    let flags = Flags {
        approve: vec!["$mine".to_owned()],
        ..Flags::default()
    };
    let approve = with(file, flags).unwrap().approve;
    assert_eq!(approve.decide("bash"), Some(Decision::Approve));
    assert_eq!(approve.decide("write"), Some(Decision::Deny));
}

#[test]
fn folders_of_tools_are_added_to_options_of_any_form() {
    let flags = Flags {
        tools_dir: vec!["more".into()],
        ..Flags::default()
    };
    for (before, after) in [
        (json!({}), json!(["more"])),
        (json!({"tools": 5}), json!(["more"])),
        (json!({"tools": {"script_paths": "x"}}), json!(["more"])),
        (
            json!({"tools": {"script_paths": ["a"]}}),
            json!(["a", "more"]),
        ),
    ] {
        let mut options = before.clone();
        add_tools(&mut options, &flags);
        assert_eq!(options["tools"]["script_paths"], after, "{before}");
    }
}
