//! Which file is a project's, and when it is trusted.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use chat::approval::Decision;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::options::{leaves, nested};

/// A home folder with a project `home/p` and a folder `home/p/src/deep` in it.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/p/src/deep")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(&self, folder: &str) -> Option<PathBuf> {
        nearest_below(&self.path(folder), Some(&self.path("home")), CONFIG)
    }

    fn trust(&self) -> Trust {
        Trust::open(&self.path("state"))
    }

    fn read(&self) -> ProjectConfig {
        ProjectConfig::read(self.path("home/p/.flemma/config.toml"), &self.trust())
    }
}

fn settings() -> Settings {
    Settings::read(&json!({}), &Registry::builtin()).0
}

#[test]
fn the_nearest_folder_counts() {
    let stage = Stage::new();
    assert_eq!(stage.found("home/p/src/deep"), None);
    stage.write("home/p/.flemma/config.toml", "");
    let outer = stage.path("home/p/.flemma/config.toml");
    assert_eq!(stage.found("home/p/src/deep"), Some(outer.clone()));
    assert_eq!(stage.found("home/p"), Some(outer.clone()));
    stage.write("home/p/src/.flemma/config.toml", "");
    let inner = stage.path("home/p/src/.flemma/config.toml");
    assert_eq!(stage.found("home/p/src/deep"), Some(inner));
    assert_eq!(stage.found("home/p"), Some(outer));
}

#[test]
fn the_home_folder_is_a_project_only_for_itself_and_nothing_above_it_is_one() {
    let stage = Stage::new();
    stage.write(".flemma/config.toml", "");
    assert_eq!(stage.found("home/p"), None);
    assert_eq!(stage.found("home"), None);
    stage.write("home/.flemma/config.toml", "");
    assert_eq!(stage.found("home/p"), None);
    let own = stage.path("home/.flemma/config.toml");
    assert_eq!(stage.found("home"), Some(own));
    // Also where $HOME is a link to it.
    symlink(stage.path("home"), stage.path("link")).unwrap();
    let folder = stage.path("home/p");
    assert_eq!(
        nearest_below(&folder, Some(&stage.path("link")), CONFIG),
        None
    );
    // Elsewhere, all folders above count.
    fs::create_dir(stage.path("other")).unwrap();
    assert_eq!(
        stage.found("other"),
        Some(stage.path(".flemma/config.toml"))
    );
}

#[test]
fn trust_is_for_exactly_this_text_in_this_file() {
    let stage = Stage::new();
    stage.write("home/p/.flemma/config.toml", "model = \"x\"\n");
    let config = stage.read();
    assert!(!config.trusted);
    let reading = config.apply(&settings(), None);
    assert_eq!(reading.settings.model, None);
    assert!(config.messages(&reading)[0].contains(
        "config.toml has settings that do not apply until you have read it and confirm with \
         :Flemma trust project. Line 1 would set model to \"x\"."
    ));

    config.trust(&stage.trust()).unwrap();
    let config = stage.read();
    let reading = config.apply(&settings(), None);
    assert_eq!(reading.settings.model.as_deref(), Some("x"));
    assert_eq!(config.messages(&reading), [""; 0]);

    stage.write("home/p/.flemma/config.toml", "model = \"y\"\n");
    assert!(!stage.read().trusted);
    stage.write("home/p/.flemma/config.toml", "model = \"x\"\n");
    assert!(stage.read().trusted, "it was trusted");
}

#[test]
fn a_file_that_cannot_be_read_is_reported_and_makes_calls_ask() {
    let stage = Stage::new();
    let path = stage.path("home/p/.flemma/config.toml");
    let said = |why: &str, line: usize| {
        let config = stage.read();
        let reading = config.apply(&settings(), None);
        assert_eq!(reading.settings.policy().approve.len(), 0, "{why}");
        let messages = config.messages(&reading);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains(why), "{messages:?}");
        assert!(
            messages[0].contains(&format!(", line {line}: ")),
            "{messages:?}"
        );
    };
    stage.write("home/p/.flemma/config.toml", "a = 1\nb = [\n");
    said(
        "Until that is corrected, every call needs your approval.",
        2,
    );
    fs::write(&path, "#".repeat(300_000)).unwrap();
    said("It cannot be read: it is larger than 256 KB.", 1);
    fs::write(&path, b"\xff").unwrap();
    said("it is not UTF-8", 1);
    fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    said("it is a symbolic link", 1);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    said("it is not a regular file", 1);
    fs::remove_dir(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    said("it is not a regular file", 1);
    assert!(stage.read().trust(&stage.trust()).is_err());
}

fn settings_of_user(given: &Value) -> Settings {
    let (settings, problems) = Settings::read(given, &Registry::builtin());
    assert_eq!(problems, [""; 0]);
    settings
}

fn in_project(own: &Settings, text: &str, trusted: bool) -> ProjectReading {
    let given = TomlOptions::read(text).unwrap();
    own.with_project(&given, trusted, Some(&Registry::builtin()))
}

/// Returns the value of an option in a project with this text.
fn value(own: &Value, text: &str, trusted: bool, path: &str) -> Value {
    let reading = in_project(&settings_of_user(own), text, trusted);
    assert_eq!(reading.problems, []);
    reading.settings.value(path).clone()
}

/// Each option that a project can set: a value that only tightens where there is one, and a
/// value that does more. The user has set these options, too.
const OWN: &str = r#"{
    "provider": "anthropic", "model": "own",
    "tools": {
        "auto_approve": ["read", "write"], "require_approval": true,
        "autopilot": {"enabled": false, "max_turns": 10},
        "bash": {"allow": ["tokei"]}, "http_get": {"allow": ["docs.rs"]}
    }
}"#;

fn rows() -> Vec<(&'static str, Option<Value>, Option<Value>)> {
    let rows = vec![
        ("provider", None, Some(json!("openai"))),
        ("model", None, Some(json!("other"))),
        (
            "tools.require_approval",
            Some(json!(true)),
            Some(json!(false)),
        ),
        (
            "tools.auto_approve",
            Some(json!(["read"])),
            Some(json!(["read", "bash"])),
        ),
        ("tools.offer", None, Some(json!(["grep"]))),
        (
            "tools.autopilot.enabled",
            Some(json!(false)),
            Some(json!(true)),
        ),
        ("tools.autopilot.max_turns", Some(json!(9)), Some(json!(11))),
        ("tools.autopilot.max_cost", Some(json!(1.5)), None),
        ("tools.review", Some(json!("always")), None),
        ("tools.web", Some(json!(false)), Some(json!("search"))),
        ("tools.web_allowed_domains", None, Some(json!(["a.test"]))),
        ("tools.web_blocked_domains", None, Some(json!(["a.test"]))),
        ("tools.web_max_uses", Some(json!(2)), None),
        ("tools.bash.allow", Some(json!([])), Some(json!(["make"]))),
        ("tools.bash.deny", Some(json!(["git push"])), None),
        ("tools.bash.unlisted", Some(json!("deny")), None),
        (
            "tools.http_get.allow",
            Some(json!([])),
            Some(json!(["x.org"])),
        ),
        ("sandbox.enabled", Some(json!(true)), Some(json!(false))),
        (
            "sandbox.backend",
            Some(json!("required")),
            Some(json!("bwrap")),
        ),
        (
            "sandbox.policy.rw_paths",
            Some(json!([])),
            Some(json!(["/"])),
        ),
        (
            "sandbox.policy.network",
            Some(json!({"allow": ["docs.rs"]})),
            None,
        ),
        (
            "sandbox.policy.allow_privileged",
            Some(json!(false)),
            Some(json!(true)),
        ),
    ];
    rows
}

#[test]
fn of_every_option_what_tightens_applies_at_once_and_the_rest_once_it_is_trusted() {
    let own = settings_of_user(&serde_json::from_str(OWN).unwrap());
    let rows = rows();
    for (path, option) in leaves().filter(|(_, option)| option.is_in(Scope::Project)) {
        let listed = rows.iter().find(|row| row.0 == path).cloned();
        // Parameters restrict nothing, so none of their values tightens.
        let (tight, more) = match listed {
            Some((_, tight, more)) => (tight, more),
            None if path.starts_with("parameters.") => (None, Some(parameter(option))),
            None => unreachable!("{path} is in no row"),
        };
        for (value, applies) in [(tight, true), (more, false)] {
            let Some(value) = value else { continue };
            let given = TomlOptions {
                values: nested(path, value.clone()),
                ..TomlOptions::default()
            };
            let reading = own.with_project(&given, false, None);
            let withheld: Vec<&str> = reading
                .withheld
                .iter()
                .map(|it| it.option.as_str())
                .collect();
            let expected = if applies { vec![] } else { vec![path] };
            assert_eq!(withheld, expected, "{path} = {value}");
            let before = if applies { &value } else { own.value(path) };
            assert_eq!(reading.settings.value(path), before, "{path} = {value}");
            let trusted = own.with_project(&given, true, None);
            assert_eq!(trusted.withheld, []);
            assert_eq!(trusted.settings.value(path), &value, "{path} when trusted");
        }
    }
}

fn parameter(option: &OptionDef) -> Value {
    let kinds = [
        json!("low"),
        json!(7),
        json!(1.5),
        json!("short"),
        json!("text"),
        json!("auto"),
        json!("auto"),
        json!(true),
    ];
    let found = kinds.into_iter().find(|it| option.kind.takes(it));
    found.unwrap_or_else(|| unreachable!("{} takes none of them", option.name))
}

#[test]
fn options_that_only_the_user_sets_are_refused() {
    let own = settings_of_user(&json!({}));
    for text in [
        "tools.bash.env.PATH = \"/x\"",
        "tools.script_paths = [\"x\"]",
        "tools.bash.trial_home = [\"~/x\"]",
        "parameters.openai.base_url = \"http://x\"",
        "parameters.openai.api_key_command = [\"x\"]",
        "mcp.servers.x.command = \"x\"",
        "sandbox.sockets = [\"docker\"]",
        "sandbox.reveal = [\"~/.ssh\"]",
        "trust.frontmatter = \"always\"",
        "host.path = \"/x\"",
        "presets.\"$x\" = \"openai\"",
    ] {
        let reading = in_project(&own, text, true);
        let said = &reading.problems[0].message;
        assert!(
            said.contains("can only be set in setup()"),
            "{text}: {said}"
        );
        let path = text.split(" =").next().unwrap();
        assert_eq!(reading.settings.value(path), own.value(path), "{text}");
    }
}

#[test]
fn a_name_that_no_option_has_is_reported_with_its_line_and_the_nearest_one() {
    let text = "model = \"m\"\n\n[tools]\nauto_aprove = [\"bash\"]\n[sandbox]\nenabled = 1\n";
    let reading = in_project(&settings_of_user(&json!({})), text, true);
    let said: Vec<(usize, &str)> = reading
        .problems
        .iter()
        .map(|it| (it.line, it.message.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (
                4,
                "There is no option \"tools.auto_aprove\". Did you mean \"auto_approve\"?"
            ),
            (6, "sandbox.enabled is 1; it must be true or false."),
        ]
    );
    assert_eq!(
        reading.settings.model.as_deref(),
        Some("m"),
        "the others apply"
    );
    assert_eq!(
        reading.consequence,
        "Until the tools options are valid, every call needs your approval."
    );
    assert_eq!(
        reading.settings.value("tools.auto_approve"),
        &json!(["$default"])
    );
    assert_eq!(reading.settings.policy().decide("read"), None);
}

#[test]
fn a_problem_elsewhere_leaves_the_rules_as_they_are() {
    let reading = in_project(&settings_of_user(&json!({})), "modl = \"m\"", true);
    assert_eq!(reading.consequence, "Your own options apply instead.");
    assert_eq!(
        reading.settings.policy().decide("read"),
        Some(Decision::Approve)
    );
}

#[test]
fn what_the_user_denies_stays_denied() {
    let own = settings_of_user(&json!({"tools": {
        "auto_approve": ["$mine", "read"],
        "presets": {"$mine": {"deny": ["bash"]}},
        "bash": {"deny": ["rm"]},
    }}));
    let text = "[tools]\nauto_approve = [\"bash\", \"edit\"]\nbash.deny = [\"git push\"]\n";
    let policy = in_project(&own, text, true).settings.policy();
    let decided = ["bash", "edit", "read"].map(|it| policy.decide(it));
    assert_eq!(
        decided,
        [Some(Decision::Deny), Some(Decision::Approve), None]
    );
    let deny = value(
        &json!({"tools": {"bash": {"deny": ["rm"]}}}),
        text,
        false,
        "tools.bash.deny",
    );
    assert_eq!(deny, json!(["rm", "git push"]));
}

#[test]
fn a_project_does_not_end_plan_mode() {
    let own = settings_of_user(&json!({"tools": {"auto_approve": ["$plan"]}}));
    let reading = in_project(&own, "tools.auto_approve = [\"bash\"]", true);
    assert!(reading.settings.is_planning());
}

#[test]
fn a_list_takes_no_place_of_code_and_names_none() {
    let function = settings_of_user(&json!({"tools": {"auto_approve": {"function": 1}}}));
    let list = "tools.auto_approve = [\"read\"]";
    let module = "tools.auto_approve = [\"my.module\"]";
    for (own, text, why) in [
        (&function, list, "yours is a function or names a module"),
        (
            &settings_of_user(&json!({})),
            module,
            "a project can list tools and presets",
        ),
        (
            &settings_of_user(&json!({})),
            "tools.auto_approve = \"my.module\"",
            "a project can list",
        ),
    ] {
        let reading = in_project(own, text, true);
        assert!(
            reading.problems[0].message.contains(why),
            "{:?}",
            reading.problems
        );
        assert!(!reading.settings.is_of_project("tools.auto_approve"));
    }
}

#[test]
fn a_preset_of_the_user_gives_provider_model_and_parameters() {
    let own = json!({"model": "own", "presets": {"$fast": "gemini flash thinking=low"}});
    let text = "model = \"$fast\"";
    assert_eq!(value(&own, text, true, "provider"), json!("gemini"));
    assert_eq!(value(&own, text, true, "model"), json!("flash"));
    assert_eq!(
        value(&own, text, true, "parameters.gemini.thinking"),
        json!("low")
    );
    assert_eq!(value(&own, text, false, "model"), json!("own"));
    let reading = in_project(&settings_of_user(&own), "model = \"$fats\"", true);
    assert_eq!(
        reading.problems[0].message,
        "model: There is no preset \"$fats\". Did you mean \"$fast\"?"
    );
}

#[test]
fn the_users_model_is_not_sent_to_the_projects_provider() {
    let own = json!({"model": "own"});
    let text = "provider = \"openai\"";
    assert_eq!(value(&own, text, true, "model"), Value::Null);
    assert_eq!(value(&own, text, false, "model"), json!("own"));
}

#[test]
fn a_switch_wins_and_finds_the_model_of_its_provider() {
    let own = settings_of_user(&json!({"model": "own"}));
    let inside = in_project(&own, "provider = \"openai\"\nmodel = \"theirs\"", true).settings;
    for (provider, model) in [
        ("openai", Some("theirs")),
        ("anthropic", Some("own")),
        ("gemini", None),
    ] {
        let target = Target {
            provider: provider.to_owned(),
            ..Target::default()
        };
        let switched = inside.switched_to(&target).unwrap();
        assert_eq!(switched.model.as_deref(), model, "{provider}");
    }
}

#[test]
fn a_general_parameter_of_a_project_beats_the_providers_own() {
    let own = json!({"parameters": {"anthropic": {"max_tokens": 5}}});
    let reading = in_project(&settings_of_user(&own), "parameters.max_tokens = 9", true);
    assert_eq!(
        reading.settings.parameter("anthropic", "max_tokens"),
        Some(&json!(9))
    );
}

#[test]
fn flags_of_the_command_line_win() {
    let own = settings_of_user(&json!({"model": "flag"})).with_fixed(vec!["provider", "model"]);
    let reading = in_project(&own, "model = \"theirs\"\nparameters.temperature = 1", true);
    assert_eq!(reading.settings.model.as_deref(), Some("flag"));
    assert_eq!(reading.settings.value("parameters.temperature"), &json!(1));
}

#[test]
fn the_report_names_the_project_and_leaving_it_restores_the_users_own() {
    let own = settings_of_user(&json!({"tools": {"autopilot": {"max_turns": 10}}}));
    let inside = in_project(&own, "tools.autopilot.max_turns = 3", false).settings;
    let layer = |settings: &Settings| {
        let rows = settings.rows(&std::collections::BTreeMap::new());
        let row = rows
            .iter()
            .find(|row| row.name == "tools.autopilot.max_turns");
        row.map(|row| (row.value.clone(), row.layer_name()))
            .unwrap()
    };
    assert_eq!(layer(&inside), ("3".to_owned(), "project"));
    assert_eq!(layer(&inside.without_project()), ("10".to_owned(), "setup"));
}

#[test]
fn an_unreadable_file_makes_every_call_ask() {
    let settings =
        settings_of_user(&json!({"tools": {"require_approval": false}})).with_unreadable_project();
    assert!(settings.tools.require_approval);
    assert_eq!(settings.policy().decide("read"), None);
    assert_eq!(settings.value("tools.require_approval"), &json!(false));
}
