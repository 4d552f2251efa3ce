//! `flemma project`: what a project brings along in `.flemma`, and the user's own skills.
//!
//! The Neovim plugin reads the JSON for the template of a new chat.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use policy::project::{self, ProjectFolder};
use policy::trust::Trust;
use serde::{Serialize, Serializer};
use session::projects::{TEMPLATES, template_names};
use session::skills::{self, Skill};
use tools::state_dir;

use crate::exit_code::Code;
use crate::problems;
use crate::stdout;

/// The report as JSON.
#[derive(Debug, Default, Serialize)]
struct ProjectReport {
    /// The file of options.
    #[serde(serialize_with = "lossy")]
    options: Option<PathBuf>,
    /// The skills that new chats list.
    skills: Vec<Skill>,
    /// The project's folder of templates, if the user trusts it.
    #[serde(serialize_with = "lossy")]
    templates: Option<PathBuf>,
    /// Messages for the user.
    messages: Vec<String>,
}

/// Serializes a path as text. JSON has no bytes that are not UTF-8, so these are replaced.
fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref()
        .map(Path::to_string_lossy)
        .serialize(serializer)
}

/// Prints the report.
pub fn print(json: bool) -> ExitCode {
    let folder = match problems::current_folder() {
        Ok(folder) => folder,
        Err(problem) => return Code::Error.report(&problem),
    };
    let trust = Trust::open(&state_dir::path());
    let skills = skills::around(&folder, &trust);
    let mut report = ProjectReport {
        options: project::config_path(&folder),
        skills: skills.found,
        messages: skills.problems,
        ..ProjectReport::default()
    };
    match ProjectFolder::around(&folder, TEMPLATES, &trust) {
        Some(Ok(templates)) if templates.trusted => report.templates = Some(templates.path),
        Some(Ok(templates)) => report.messages.push(format!(
            "{} has templates that came with this project. They are not used until you have read them and agree with \
             :Flemma trust project.",
            templates.path.display()
        )),
        Some(Err(problem)) => report.messages.push(problem),
        None => {}
    }
    if json {
        return stdout::print(&serde_json::to_string(&report).unwrap_or_default()).into();
    }
    let messages: Vec<String> = report
        .messages
        .iter()
        .map(|it| problems::in_a_shell(it))
        .collect();
    problems::warn(&messages);
    stdout::print(&lines(&report).join("\n")).into()
}

fn lines(report: &ProjectReport) -> Vec<String> {
    let options = report.options.iter();
    let mut lines: Vec<String> = options
        .map(|it| format!("options    {}", it.display()))
        .collect();
    let skills = report.skills.iter();
    lines.extend(skills.map(|it| {
        let (name, description, path) = (&it.name, &it.description, it.path.display());
        format!("skill      {name}: {description} ({path})")
    }));
    if let Some(folder) = &report.templates {
        let names = template_names(folder).join(", ");
        lines.push(format!("templates  {names} ({})", folder.display()));
    }
    if lines.is_empty() {
        lines.push("There are no options, skills, or templates here.".to_owned());
    }
    lines
}
