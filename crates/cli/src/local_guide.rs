//! `flemma local`: explains how to get a llama.cpp server and a model, and looks for the server.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::stdout;

const GUIDE: &str = "\
The provider \"local\" runs a model on this machine, without a network.

1. llama.cpp's server, `llama-server`:
     macOS, Linux  brew install llama.cpp
     Windows       winget install llama.cpp
     otherwise     a release of github.com/ggml-org/llama.cpp, unpacked; name the
                   program in parameters.local.server, or put it on $PATH
2. A model as a GGUF file that can call tools, such as a Qwen3 or gpt-oss in a
   quantization that fits: it takes about as much memory as on disk.
3. In your configuration:

     require(\"flemma\").setup({
       provider = \"local\",
       parameters = { [\"local\"] = {
         model_path = \"~/models/NAME.gguf\",
         -- server = \"/path/to/llama-server\",
         -- extra_args = { \"--ctx-size\", \"32768\" },
       } },
     })
";

/// Prints the guide, and where `llama-server` is.
pub fn print() -> ExitCode {
    let path = tools::variable_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path)
        .map(|folder| folder.join("llama-server"))
        .find(|file| file.is_file());
    let found = match found {
        Some(file) => format!("llama-server was found: {}", file.display()),
        None => "llama-server is not on $PATH.".to_owned(),
    };
    stdout::print(&format!("{GUIDE}\n{found}")).into()
}
