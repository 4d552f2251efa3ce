---@meta
--- The options of `require("flemma").setup()`, for LuaLS. Written by the tests of
--- the host from its definitions; see CONTRIBUTING.md.

-- Options:
---@class flemma.Options
---@field provider? "anthropic"|"openai"|"gemini"|"vertex"|"local"|"openai_compatible"|"ollama"|"llamacpp"|"groq"|"together"|"openrouter"|"deepseek"|"moonshot"|"tutor"|"auto" Whom to send to; see |flemma-providers| for where each is and which key it takes from the environment. "auto" takes the provider whose key or address is set, else a server on this machine, else the built-in tutor.
---@field model? string The model's name in the provider's words. nil: the provider's default.
---@field parameters? flemma.Options.parameters What goes with each request. A table named after a provider holds parameters for that provider alone, and wins:
---@field models? table<string, { context?: integer, output?: integer, price?: { input?: number, output?: number, cache_read?: number, cache_write?: number, cache_write_long?: number }, thinking?: "none"|"budget"|"levels", levels?: string[], thinking_min?: integer, thinking_max?: integer, thinking_off?: boolean, thinking_shown?: boolean, temperature?: boolean, tools?: boolean, images?: boolean, pdf?: boolean }> What you know of models, by their names in the provider's words. It is laid over what the plugin knows; a model that neither knows works as well. Prices are dollars for a million tokens:
---@field presets? table<string, string|table> Names, each beginning with `$`, for whom to send to: a provider, a model and parameters of it, as one writes them behind |:Flemma-switch|, or as a table:
---@field tools? flemma.Options.tools
---@field sandbox? flemma.Options.sandbox What commands may do to the machine; see |flemma-sandboxing|. A chat may narrow it: `flemma.opt.sandbox = { policy = { network = false } }`.
---@field mcp? flemma.Options.mcp
---@field trust? flemma.Options.trust
---@field ui? flemma.Options.ui
---@field folds? flemma.Options.folds
---@field keymaps? flemma.Options.keymaps Keys in chat buffers.
---@field highlights? table<string, string|table> A group by its name in lower case, to the group it links to or to a definition as in |nvim_set_hl()|:
---@field host? flemma.Options.host

---@class flemma.Options.parameters
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.
---@field tool_protocol? "auto"|"native"|"text" How the model is told of tools. "native": as its provider has it. "text": in the system prompt, and its calls are read from its words; see |flemma-text-tools|. nil or "auto": "text" for models that `models` or the catalogue calls unable to call tools.
---@field anthropic? flemma.Options.parameters.anthropic
---@field openai? flemma.Options.parameters.openai
---@field gemini? flemma.Options.parameters.gemini
---@field vertex? flemma.Options.parameters.vertex
---@field ["local"] flemma.Options.parameters.local|nil A llama.cpp server that Flemma starts, see |flemma-local|. The name is a word of Lua, so it stands in brackets:
---@field openai_compatible? flemma.Options.parameters.server
---@field ollama? flemma.Options.parameters.server
---@field llamacpp? flemma.Options.parameters.server
---@field groq? flemma.Options.parameters.server
---@field together? flemma.Options.parameters.server
---@field openrouter? flemma.Options.parameters.server
---@field deepseek? flemma.Options.parameters.server
---@field moonshot? flemma.Options.parameters.server

---@class flemma.Options.parameters.anthropic
---@field api_key? string The key, for those who do not have it in the environment.
---@field api_key_command? string[] A program and its arguments that print the key: the last place that is asked, see |flemma-keys-of-providers|. No shell is involved.
---@field base_url? string The server's address, for all but Anthropic and Gemini with its version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A file of certificate authorities in PEM that are trusted for this provider beside those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.
---@field thinking_budget? integer Tokens to think with; wins over `thinking`. A model that takes no number gets the nearest level.

---@class flemma.Options.parameters.openai
---@field api_key? string The key, for those who do not have it in the environment.
---@field api_key_command? string[] A program and its arguments that print the key: the last place that is asked, see |flemma-keys-of-providers|. No shell is involved.
---@field base_url? string The server's address, for all but Anthropic and Gemini with its version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A file of certificate authorities in PEM that are trusted for this provider beside those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.
---@field reasoning? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much the model thinks, in OpenAI's words and as it stands; wins over `thinking`. Not every model knows every word.
---@field reasoning_summary? "auto"|"concise"|"detailed"|"none" How OpenAI sums up what the model thought. nil: "auto" when `thinking` or `reasoning` is set, which some models give only to organizations that OpenAI has verified; "none" does without.

---@class flemma.Options.parameters.gemini
---@field api_key? string The key, for those who do not have it in the environment.
---@field api_key_command? string[] A program and its arguments that print the key: the last place that is asked, see |flemma-keys-of-providers|. No shell is involved.
---@field base_url? string The server's address, for all but Anthropic and Gemini with its version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A file of certificate authorities in PEM that are trusted for this provider beside those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.
---@field thinking_budget? integer Tokens to think with; wins over `thinking`. A model that takes no number gets the nearest level.

---@class flemma.Options.parameters.vertex
---@field api_key? string The key, for those who do not have it in the environment.
---@field api_key_command? string[] A program and its arguments that print the key: the last place that is asked, see |flemma-keys-of-providers|. No shell is involved.
---@field base_url? string The server's address, for all but Anthropic and Gemini with its version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A file of certificate authorities in PEM that are trusted for this provider beside those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.
---@field thinking_budget? integer Tokens to think with; wins over `thinking`. A model that takes no number gets the nearest level.
---@field project_id? string The project that pays. Otherwise $GOOGLE_CLOUD_PROJECT.
---@field location? string Where the model runs. Otherwise $GOOGLE_CLOUD_LOCATION, or "global".

---@class flemma.Options.parameters.local
---@field model_path? string The model, a GGUF file. `flemma local` says how to get one.
---@field server? string llama.cpp's server program. nil: `llama-server` in $PATH.
---@field extra_args? string[] Further arguments for it.
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.

---@class flemma.Options.parameters.server
---@field api_key? string The key, for those who do not have it in the environment.
---@field api_key_command? string[] A program and its arguments that print the key: the last place that is asked, see |flemma-keys-of-providers|. No shell is involved.
---@field base_url? string The server's address, for all but Anthropic and Gemini with its version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A file of certificate authorities in PEM that are trusted for this provider beside those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of what the model can say, such as "50%", at least 1024. nil: what the provider allows, with Anthropic 8192 and what it may think. So it is where the model's limit is not known.
---@field temperature? number How freely the model chooses its words. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may keep what was sent, so that the next request costs less. "none" asks it not to.
---@field timeout? number Seconds in which nothing arrives, before or in an answer, after which it is given up. nil: 120.
---@field connect_timeout? number Seconds a connection may take. nil: 10.
---@field max_retries? integer How often a request is sent again that failed before its answer began: too many requests, an overloaded server, a connection that broke. nil: 5.
---@field max_retry_wait? number The longest wait in seconds that a server may ask for with `Retry-After`. If it wants more, you are told when to try again. nil: 60.

---@class flemma.Options.tools
---@field require_approval? boolean false: calls that no rule speaks of run without asking.
---@field auto_approve? string[]|(fun(tool_name: string, input: table, context: table): boolean|"deny"|nil)|string A list of tool names, presets and modules that say what runs without asking, or a function:
---@field presets? table<string, { approve?: string[], deny?: string[] }> Named lists, to be used in `auto_approve`. What one denies, no other approves. There are "$readonly" (read), "$default" (read, write, edit) and "$standard" (those of "$default", find, grep, ls, tool_search); "$shell-safe" approves `bash` for commands that only read, see |flemma-shell-safe|.
---@field offer? string[] Tools that models are offered beside those that always are: `grep`, `find` and `ls` are there and not offered.
---@field autopilot? flemma.Options.tools.autopilot
---@field default_timeout? number Seconds a tool may run before it is stopped.
---@field review_delay? integer Milliseconds that a waiting call has to be on the screen before one press of Alt-Enter runs it: a key that was meant for something else does not. A second press runs it at once. 0 turns that off.
---@field max_concurrent? integer Most calls of a chat that run at the same time; 0 is any number.
---@field show_spinner? boolean Whether running calls show that they run.
---@field cursor_after_result? "result"|"stay"|"next" Where the cursor goes when a call that waited for you gets its result: to the result, nowhere, or to the next `@You:`. A window at the end of a chat follows what is written there in any case.
---@field lock_buffer? boolean Whether the chat is not 'modifiable' while its tools run. The price: what you type at that moment is refused, and the rest of it runs as commands.
---@field script_paths? string[] Folders with tools of yours, each a folder with a `tool.toml` and a script, beside `flemma/tools` in your configuration folder; see |flemma-script-tools|.
---@field script_libraries? string[] Folders with Python modules for all of them, beside each folder's `lib`.
---@field bash? flemma.Options.tools.bash
---@field http_get? flemma.Options.tools.http_get
---@field [string] table Of the tool of that name.

---@class flemma.Options.tools.autopilot
---@field enabled? boolean Whether the steps chain by themselves. They stop when the same call fails with the same error in three requests.
---@field max_turns? integer Most requests in a row without you.

---@class flemma.Options.tools.bash
---@field shell? string The shell that runs commands. nil: `bash`.
---@field cwd? string The folder they run in. "$FLEMMA_BUFFER_PATH" is the chat's, "$CWD" Neovim's working directory, "~" your home; a relative path starts in "$CWD".
---@field env? table<string, string> What is added to their environment.
---@field allow? string[] Commands that "$shell-safe" approves as well: programs, or programs and the words behind them, such as "tree" or "go test".
---@field deny? string[] Commands that never run, whoever approves them. Seen by their names, so it is good against slips; what a program does inside is not seen.
---@field unlisted? "ask"|"deny" Commands that "$shell-safe" would not approve. "ask": the other rules decide, and without one you are asked. "deny": they are refused.

---@class flemma.Options.tools.http_get
---@field allow? string[] Hosts that `http_get` fetches from without asking: "docs.rs", "*.example.org", "localhost:8080". What only this machine or its network can reach is refused unless its address or network stands here as well: "localhost", "127.0.0.1", "10.0.0.0/8".

---@class flemma.Options.sandbox
---@field enabled? boolean Whether commands are held, and `write` and `edit` keep to `rw_paths`.
---@field backend? "auto"|"required"|"bwrap" "auto": bubblewrap, where it is installed and holds; without it commands run free, and waiting calls say UNSANDBOXED. "required" and "bwrap": no command runs that is not held.
---@field sockets? string[] Sockets that commands can reach, by name: "ssh-agent" (for `git push`), "gpg-agent", "tmux", "nvim", "dbus", "docker", "podman", "x11", "wayland"; or by path. The program that listens there does for a command what it does for you: through docker or tmux, that is everything.
---@field env? string[] Variables of your environment that commands and MCP servers get beside those of |flemma-sandbox-environment|, such as "GITHUB_TOKEN" or "AWS_*". They apply without a sandbox too.
---@field reveal? string[] Secret files and folders, see |flemma-secrets|, that tools, references, and commands may read, such as "$CWD/.env" or "~/.ssh/config". A folder means all that is in it. A link is not followed: name the file that it leads to.
---@field policy? flemma.Options.sandbox.policy
---@field backends? flemma.Options.sandbox.backends

---@class flemma.Options.sandbox.policy
---@field rw_paths? string[] Below which folders files can be written. "$CWD" is Neovim's working directory, "$FLEMMA_BUFFER_PATH" the folder of the chat, "~" your home. Git's hooks and configuration, `.envrc` and their like stay as they are there; see |flemma-sandbox-limits|.
---@field network? boolean Whether commands can reach the network.
---@field allow_privileged? boolean Whether commands keep privileges that you have, such as root's.

---@class flemma.Options.sandbox.backends
---@field bwrap? flemma.Options.sandbox.backends.bwrap

---@class flemma.Options.sandbox.backends.bwrap
---@field path? string The program. nil: /usr/bin/bwrap, else the first in PATH.
---@field extra_args? string[] More arguments for it, after ours.

---@class flemma.Options.mcp
---@field servers? table<string, { command?: string|string[], args?: string[], env?: table<string, string>, cwd?: string, url?: string, headers?: table<string, string>, timeout?: integer, type?: "stdio"|"http" }> Servers of the Model Context Protocol, see |flemma-mcp-servers|. One is a program with its arguments, or an address:
---@field project? boolean Whether the servers of a project's `.mcp.json` are used as well, once you agreed to them with `:Flemma mcp:trust`.

---@class flemma.Options.trust
---@field frontmatter? "ask"|"always" What frontmatter that you did not type may loosen. "ask": nothing until `:Flemma trust`. "always": whatever it says.
---@field unrecognized_calls? "review"|"policy" Calls that stood in the file when it was opened and that no provider made here. "review": they wait for you. "policy": the rules decide.

---@class flemma.Options.ui
---@field usage? integer|false Seconds for which the line of the last role marker shows what an answer took and cost. false: not at all; |:Flemma-usage| and the status line say it.
---@field bell? "bell"|"osc9"|false What the terminal gets when a chat that you don't see needs you: "bell", or "osc9", a desktop notification in terminals that know OSC 9. See |flemma-hidden|.

---@class flemma.Options.folds
---@field enabled? boolean Whether messages, thinking, calls and results can be folded; see |flemma-folds|. A window whose 'foldmethod' is not "manual" keeps its own.
---@field closed? "frontmatter"|"message"|"thinking"|"tool_use"|"tool_result"[] Which of them are closed as soon as they are complete. What waits for you and what went wrong stays open.

---@class flemma.Options.keymaps
---@field enabled? boolean false: no keys.
---@field normal? flemma.Options.keymaps.normal
---@field insert? flemma.Options.keymaps.insert

---@class flemma.Options.keymaps.normal
---@field send? string|false The next step. false: no key.
---@field tool_execute? string|false Runs the call at the cursor.
---@field approve_all? string|false Runs every call that waits.
---@field reject? string|false Refuses the call at the cursor, or the only one that waits, with a reason that you are asked for.
---@field cancel? string|false Stops what runs.

---@class flemma.Options.keymaps.insert
---@field send? string|false The next step.

---@class flemma.Options.host
---@field path? string The host program. nil: $FLEMMA_HOST, the newest build in the plugin's folder, or `flemma` in $PATH.
---@field log? string Where plugin and host write their log. Keys are never in it. nil: `flemma.log` in `stdpath("log")`.
-- End.
