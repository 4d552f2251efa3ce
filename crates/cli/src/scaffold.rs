//! `flemma tool new`: a tool of the user's own that works at once, to go on from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tools::{ScriptFolder, ScriptRoot};

use crate::arguments::{Language, NewTool};
use crate::config_dir;
use crate::exit_code::Code;
use crate::scripts::TAKEN;
use crate::terminal;

/// What stands in the `tool.toml`, but for the script's name.
const MANIFEST: &str = include_str!("scaffold/tool.toml");
const PYTHON: &str = include_str!("scaffold/script.py");
const BASH: &str = include_str!("scaffold/script.sh");

/// `flemma tool new`
pub fn write(new: &NewTool) -> ExitCode {
    let own = || config_dir::path().map(|folder| folder.join("tools"));
    let Some(root) = new.tools_dir.clone().or_else(own) else {
        return fail("There is no home folder. Name a folder with --tools-dir.");
    };
    match tool(&root, &new.name, new.lang) {
        Ok(folder) => {
            eprintln!("{}", next_steps(new, &folder));
            Code::Ok.into()
        }
        Err(problem) => fail(&problem),
    }
}

fn fail(problem: &str) -> ExitCode {
    terminal::tell(problem);
    Code::Error.into()
}

/// Writes the tool's folder, or nothing.
fn tool(root: &Path, name: &str, language: Language) -> Result<PathBuf, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !begins || !name.chars().all(is_word) || name.len() > 64 {
        return Err(format!(
            "{name:?} cannot be a tool's name, so nothing was written. Use a letter, then letters, digits, _ and -."
        ));
    }
    if TAKEN.contains(&name) {
        return Err(format!(
            "`flemma tool {name}` means something else, so nothing was written. Choose another name."
        ));
    }
    let folder = root.join(name);
    let shown = folder.display().to_string();
    let (script, text) = match language {
        Language::Python => ("script.py", PYTHON),
        Language::Bash => ("script.sh", BASH),
    };
    let manifest = MANIFEST.replace("SCRIPT", script);
    let written = fs::create_dir_all(root)
        .and_then(|()| fs::create_dir(&folder))
        .and_then(|()| fs::write(folder.join(script), text))
        .and_then(|()| fs::write(folder.join("tool.toml"), manifest));
    match written {
        Ok(()) => Ok(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(format!(
            "{shown} is there already, so nothing was written. Choose another name, or remove it."
        )),
        Err(error) => Err(format!("{shown} cannot be written: {error}.")),
    }
}

fn next_steps(new: &NewTool, folder: &Path) -> String {
    let name = &new.name;
    let elsewhere = new.tools_dir.as_ref().map_or_else(String::new, |root| {
        format!(" --tools-dir '{}'", root.display())
    });
    let mut steps = format!(
        "Your tool is in {}. Try it:\n\n  flemma tool {name} '{{\"name\": \"Ann\"}}' --approve {name}{elsewhere}\n\n\
         Then change its two files; what you write counts at the next call.",
        folder.display()
    );
    if new.tools_dir.is_some() {
        steps.push_str(" Neovim finds it when tools.script_paths names the folder.");
    } else {
        steps.push_str(" Neovim has it already.");
    }
    if let Some(problem) = first_problem(folder) {
        steps.push_str(&format!("\n\n{problem}."));
    }
    steps
}

/// What keeps the new tool from being used, such as another one of its name.
fn first_problem(folder: &Path) -> Option<String> {
    let mut tools = ScriptFolder::new(ScriptRoot {
        root: folder.parent()?.to_owned(),
        libraries: Vec::new(),
        agreed: None,
    });
    tools.look();
    let problems = tools.problems();
    let ours = problems.iter().find(|it| it.file.starts_with(folder));
    ours.map(ToString::to_string)
}
