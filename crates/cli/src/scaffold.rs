//! `flemma tool new`: creates a script tool that works, as a start for the user's own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use session::config_dir;
use session::scripts::TAKEN;
use tools::{ScriptFolder, ScriptRoot};

use crate::arguments::{NewTool, ScriptLanguage};
use crate::terminal::Code;

/// The `tool.toml`; `SCRIPT` is replaced by the script's name.
const MANIFEST: &str = include_str!("scaffold/tool.toml");
const PYTHON: &str = include_str!("scaffold/script.py");
const BASH: &str = include_str!("scaffold/script.sh");

/// `flemma tool new`
pub fn write(new: &NewTool) -> ExitCode {
    let own = || config_dir::path().map(|folder| folder.join("tools"));
    let Some(root) = new.tools_dir.clone().or_else(own) else {
        return Code::Error.report("There is no home folder. Name a folder with --tools-dir.");
    };
    match create(&root, &new.name, new.lang) {
        Ok(folder) => {
            eprintln!("{}", next_steps(new, &folder));
            Code::Ok.into()
        }
        Err(problem) => Code::Error.report(&problem),
    }
}

/// Writes the tool's folder and returns its path.
fn create(root: &Path, name: &str, language: ScriptLanguage) -> Result<PathBuf, String> {
    // The letters that providers allow in the name of a tool.
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let has_start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !has_start || !name.chars().all(is_word) || name.len() > 64 {
        return Err(format!(
            "{name:?} is not a valid tool name, so nothing was written. Use a letter, then letters, digits, _ and -."
        ));
    }
    if TAKEN.contains(&name) {
        return Err(format!(
            "`flemma tool {name}` is another command, so nothing was written. Choose another name."
        ));
    }
    let folder = root.join(name);
    let shown = folder.display().to_string();
    let (script, text) = match language {
        ScriptLanguage::Python => ("script.py", PYTHON),
        ScriptLanguage::Bash => ("script.sh", BASH),
    };
    let manifest = MANIFEST.replace("SCRIPT", script);
    let written = fs::create_dir_all(root)
        // Fails if the folder exists, so that no tool is overwritten.
        .and_then(|()| fs::create_dir(&folder))
        .and_then(|()| fs::write(folder.join(script), text))
        // The manifest last: with it, the folder is a tool.
        .and_then(|()| fs::write(folder.join("tool.toml"), manifest));
    match written {
        Ok(()) => Ok(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(format!(
            "{shown} exists, so nothing was written. Choose another name, or remove it."
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
         Then change its two files. The next call uses what you saved.",
        folder.display()
    );
    if new.tools_dir.is_some() {
        steps.push_str(" For Neovim, add the folder to tools.script_paths.");
    } else {
        steps.push_str(" Neovim has the tool already.");
    }
    if let Some(problem) = first_problem(folder) {
        steps.push_str(&format!("\n\n{problem}."));
    }
    steps
}

/// Returns why the new tool cannot be used, such as another tool with its name.
fn first_problem(folder: &Path) -> Option<String> {
    let mut tools = ScriptFolder::new(ScriptRoot {
        root: folder.parent()?.to_owned(),
        libraries: Vec::new(),
        agreed: None,
    });
    tools.scan();
    let problems = tools.problems();
    let ours = problems.iter().find(|it| it.file.starts_with(folder));
    ours.map(ToString::to_string)
}
