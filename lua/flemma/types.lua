---@meta
--- The options of `require("flemma").setup()`, for LuaLS. Written by the tests of
--- the host from its definitions; see CONTRIBUTING.md.

-- Options:
---@class flemma.Options
---@field provider? "anthropic"|"openai"|"gemini"|"vertex"|"local"|"openai_compatible"|"llamacpp"|"ollama"|"groq"|"together"|"openrouter"|"deepseek"|"moonshot"|"xai"|"tutor"|"auto" The provider that chats are sent to. |flemma-providers| lists the address of each and the environment variable of its key. "auto" uses the provider whose key or address is set, else a server on this machine, else the built-in tutor.
---@field model? string The model, by the provider's name for it. nil: the provider's default.
---@field parameters? flemma.Options.parameters Parameters of each request. A table named after a provider holds parameters for that provider alone, which win over the general ones:
---@field models? table<string, { context?: integer, output?: integer, price?: { input?: number, output?: number, cache_read?: number, cache_write?: number, cache_write_long?: number }, thinking?: "none"|"budget"|"levels", levels?: string[], thinking_min?: integer, thinking_max?: integer, thinking_off?: boolean, thinking_shown?: boolean, temperature?: boolean, tools?: boolean, images?: boolean, pdf?: boolean }> Facts about models, by the provider's names for them. They win over the plugin's catalogue; a model that neither knows works as well. Prices are in dollars for a million tokens:
---@field presets? table<string, string|table> Names, each beginning with `$`, for a provider, a model, and parameters: a line as for |:Flemma-switch|, or a table:
---@field tools? flemma.Options.tools
---@field sandbox? flemma.Options.sandbox What commands may do to the machine; see |flemma-sandboxing|. A chat may narrow it: `flemma.opt.sandbox = { policy = { network = false } }`.
---@field mcp? flemma.Options.mcp
---@field trust? flemma.Options.trust
---@field ui? flemma.Options.ui
---@field folds? flemma.Options.folds
---@field keymaps? flemma.Options.keymaps Keys in chat buffers.
---@field highlights? table<string, string|table> Highlight groups by name in lower case. The value is the group to link to, or a definition as in |nvim_set_hl()|:
---@field host? flemma.Options.host

---@class flemma.Options.parameters
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field tool_protocol? "auto"|"native"|"text" How the model learns of tools. "native": by the provider's tool calling. "text": in the system prompt, and its calls are read from its text; see |flemma-text-tools|. nil or "auto": "text" for models that, by `models` or the catalogue, cannot call tools.
---@field anthropic? flemma.Options.parameters.anthropic
---@field openai? flemma.Options.parameters.openai
---@field gemini? flemma.Options.parameters.gemini
---@field vertex? flemma.Options.parameters.vertex
---@field ["local"] flemma.Options.parameters.local|nil A llama.cpp server that Flemma starts, see |flemma-local|. The name is a keyword of Lua and needs brackets:
---@field openai_compatible? flemma.Options.parameters.server
---@field llamacpp? flemma.Options.parameters.server
---@field ollama? flemma.Options.parameters.server
---@field groq? flemma.Options.parameters.server
---@field together? flemma.Options.parameters.server
---@field openrouter? flemma.Options.parameters.server
---@field deepseek? flemma.Options.parameters.server
---@field moonshot? flemma.Options.parameters.server
---@field xai? flemma.Options.parameters.server

---@class flemma.Options.parameters.anthropic
---@field api_key? string The key, unless it is in the environment or a key store.
---@field api_key_command? string[] A program and its arguments that print the key; the last place to look for it, see |flemma-keys-of-providers|. It runs without a shell.
---@field base_url? string The server's address. For all but Anthropic and Gemini it includes the version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field thinking_budget? integer Tokens for thinking; wins over `thinking`. A model that takes no number gets the nearest level.

---@class flemma.Options.parameters.openai
---@field api_key? string The key, unless it is in the environment or a key store.
---@field api_key_command? string[] A program and its arguments that print the key; the last place to look for it, see |flemma-keys-of-providers|. It runs without a shell.
---@field base_url? string The server's address. For all but Anthropic and Gemini it includes the version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field reasoning? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much the model thinks, in OpenAI's terms and sent unchanged; wins over `thinking`. Not every model supports every value.
---@field reasoning_summary? "auto"|"concise"|"detailed"|"none" How OpenAI summarizes the model's thinking. nil: "auto" if `thinking` or `reasoning` is set, which some models allow only for organizations that OpenAI has verified; "none": no summary.

---@class flemma.Options.parameters.gemini
---@field api_key? string The key, unless it is in the environment or a key store.
---@field api_key_command? string[] A program and its arguments that print the key; the last place to look for it, see |flemma-keys-of-providers|. It runs without a shell.
---@field base_url? string The server's address. For all but Anthropic and Gemini it includes the version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field thinking_budget? integer Tokens for thinking; wins over `thinking`. A model that takes no number gets the nearest level.

---@class flemma.Options.parameters.vertex
---@field api_key? string The key, unless it is in the environment or a key store.
---@field api_key_command? string[] A program and its arguments that print the key; the last place to look for it, see |flemma-keys-of-providers|. It runs without a shell.
---@field base_url? string The server's address. For all but Anthropic and Gemini it includes the version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field thinking_budget? integer Tokens for thinking; wins over `thinking`. A model that takes no number gets the nearest level.
---@field project_id? string The project that is billed. nil: $GOOGLE_CLOUD_PROJECT.
---@field location? string The region that the model runs in. nil: $GOOGLE_CLOUD_LOCATION, or "global".

---@class flemma.Options.parameters.local
---@field model_path? string The model, a GGUF file. `flemma local` explains how to get one.
---@field server? string The server program of llama.cpp. nil: `llama-server` in $PATH.
---@field extra_args? string[] More arguments for it.
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.

---@class flemma.Options.parameters.server
---@field api_key? string The key, unless it is in the environment or a key store.
---@field api_key_command? string[] A program and its arguments that print the key; the last place to look for it, see |flemma-keys-of-providers|. It runs without a shell.
---@field base_url? string The server's address. For all but Anthropic and Gemini it includes the version, mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, as for a gateway of your own; see |flemma-network|.
---@field max_tokens? integer|string Most tokens of an answer, or a share of the model's limit such as "50%", at least 1024. nil: what the provider allows; with Anthropic 8192 plus the tokens for thinking. This also applies if the model's limit is not known.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without any data, before or during an answer, after which the request is given up. nil: 120.
---@field connect_timeout? number Seconds that connecting may take. nil: 10.
---@field max_retries? integer How often a request is repeated that failed before its answer began: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.

---@class flemma.Options.tools
---@field require_approval? boolean false: calls that no rule decides run without asking.
---@field auto_approve? string[]|(fun(tool_name: string, input: table, context: table): boolean|"deny"|nil)|string The calls that run without asking: a list of tool names, presets, and modules, or a function:
---@field presets? table<string, { approve?: string[], deny?: string[] }> Named lists for `auto_approve`. A tool that one of them denies stays denied even if another approves it. Built in are "$readonly" (read), "$default" (read, write, edit), and "$standard" (those of "$default", find, grep, ls, tool_search); "$shell-safe" approves `bash` for commands that only read, see |flemma-shell-safe|.
---@field offer? string[] Tools that models are offered in addition to the usual ones. `grep`, `find`, and `ls` exist but are not offered by default.
---@field autopilot? flemma.Options.tools.autopilot
---@field default_timeout? number Seconds a tool may run before it is stopped.
---@field review_delay? integer Milliseconds that a pending call must be visible before one press of Alt-Enter runs it, so that a key meant for something else does not. A second press runs it at once. 0: no delay.
---@field max_concurrent? integer Most calls of a chat that run at the same time; 0: no limit.
---@field show_spinner? boolean Whether running calls show a spinner.
---@field cursor_after_result? "result"|"stay"|"next" Where the cursor goes when a call that waited for you gets its result: to the result, nowhere, or to the next `@You:`. A window at the end of a chat always follows new text.
---@field lock_buffer? boolean Whether the chat is not 'modifiable' while its tools run. Text that you type at that moment is then refused, and the rest of it runs as commands.
---@field script_paths? string[] Folders with tools of yours, each a folder with a `tool.toml` and a script, in addition to `flemma/tools` in your configuration folder; see |flemma-script-tools|.
---@field script_libraries? string[] Folders with Python modules for all of them, in addition to each folder's `lib`.
---@field bash? flemma.Options.tools.bash
---@field http_get? flemma.Options.tools.http_get
---@field [string] table Of the tool of that name.

---@class flemma.Options.tools.autopilot
---@field enabled? boolean Whether approved calls run and their results are sent without a key. It stops if the same call fails with the same error in three requests.
---@field max_turns? integer Most requests in a row without you.

---@class flemma.Options.tools.bash
---@field shell? string The shell that runs commands. nil: `bash`.
---@field cwd? string The folder they run in. "$FLEMMA_BUFFER_PATH" is the chat's, "$CWD" Neovim's working directory, "~" your home; a relative path starts in "$CWD".
---@field env? table<string, string> Variables added to their environment.
---@field allow? string[] Commands that "$shell-safe" approves as well: programs, or programs and the words after them, such as "tree" or "go test".
---@field deny? string[] Commands that never run, even if approved. They are recognized by name, which guards against mistakes; what a program does inside is not seen.
---@field unlisted? "ask"|"deny" Commands that "$shell-safe" would not approve. "ask": the other rules decide, and without one you are asked. "deny": they are refused.

---@class flemma.Options.tools.http_get
---@field allow? string[] Hosts that `http_get` fetches from without asking: "docs.rs", "*.example.org", "localhost:8080". Addresses that only this machine or its network can reach are refused unless listed here: "localhost", "127.0.0.1", "10.0.0.0/8".

---@class flemma.Options.sandbox
---@field enabled? boolean Whether commands are sandboxed, and `write` and `edit` restricted to `rw_paths`.
---@field backend? "auto"|"required"|"bwrap" "auto": bubblewrap, if it is installed and works; otherwise commands run unrestricted, and pending calls say UNSANDBOXED. "required" and "bwrap": no command runs without a sandbox.
---@field sockets? string[] Sockets that commands can reach, by name: "ssh-agent" (for `git push`), "gpg-agent", "tmux", "nvim", "dbus", "docker", "podman", "x11", "wayland"; or by path. The program that listens there does for a command what it does for you: through docker or tmux, that is everything.
---@field env? string[] Variables of your environment that commands and MCP servers get in addition to those of |flemma-sandbox-environment|, such as "GITHUB_TOKEN" or "AWS_*". They apply without a sandbox too.
---@field reveal? string[] Secret files and folders, see |flemma-secrets|, that tools, references, and commands may read, such as "$CWD/.env" or "~/.ssh/config". A folder means everything in it. A link is not followed: name the file that it points to.
---@field policy? flemma.Options.sandbox.policy
---@field backends? flemma.Options.sandbox.backends

---@class flemma.Options.sandbox.policy
---@field rw_paths? string[] Folders below which files can be written. "$CWD" is Neovim's working directory, "$FLEMMA_BUFFER_PATH" the folder of the chat, "~" your home. Git's hooks and configuration, `.envrc`, and similar files stay unchanged; see |flemma-sandbox-limits|.
---@field network? boolean Whether commands can reach the network.
---@field allow_privileged? boolean Whether commands keep privileges that you have, such as root's.

---@class flemma.Options.sandbox.backends
---@field bwrap? flemma.Options.sandbox.backends.bwrap

---@class flemma.Options.sandbox.backends.bwrap
---@field path? string The program. nil: /usr/bin/bwrap, else the first in PATH.
---@field extra_args? string[] More arguments for it, after ours.

---@class flemma.Options.mcp
---@field servers? table<string, { command?: string|string[], args?: string[], env?: table<string, string>, cwd?: string, url?: string, headers?: table<string, string>, timeout?: integer, type?: "stdio"|"http" }> Servers of the Model Context Protocol, see |flemma-mcp-servers|. A server is a program with its arguments, or an address:
---@field project? boolean Whether the servers of a project's `.mcp.json` are used as well, once you agreed to them with `:Flemma mcp:trust`.

---@class flemma.Options.trust
---@field frontmatter? "ask"|"always" What frontmatter that you did not type may loosen. "ask": nothing until `:Flemma trust`. "always": anything.
---@field unrecognized_calls? "review"|"policy" Calls that were in the file when it was opened and that no provider made here. "review": they wait for you. "policy": the rules decide.

---@class flemma.Options.ui
---@field usage? integer|false Seconds for which the line of the last role marker shows the time and cost of an answer. false: not shown; |:Flemma-usage| and the status line have it.
---@field bell? "bell"|"osc9"|false Signal to the terminal when a chat that is not visible needs you: "bell", or "osc9", a desktop notification in terminals that support OSC 9. See |flemma-hidden|.

---@class flemma.Options.folds
---@field enabled? boolean Whether messages, thinking, calls, and results can be folded; see |flemma-folds|. A window whose 'foldmethod' is not "manual" keeps its own.
---@field closed? "frontmatter"|"message"|"thinking"|"tool_use"|"tool_result"[] The kinds of folds that are closed as soon as they are complete. Pending calls and errors stay open.

---@class flemma.Options.keymaps
---@field enabled? boolean false: no keys are mapped.
---@field normal? flemma.Options.keymaps.normal
---@field insert? flemma.Options.keymaps.insert

---@class flemma.Options.keymaps.normal
---@field send? string|false Review, run, or send. false: no key.
---@field tool_execute? string|false Run the call at the cursor.
---@field approve_all? string|false Run every pending call.
---@field reject? string|false Reject the call at the cursor, or the only pending one, and ask you for a reason.
---@field cancel? string|false Stop the request, or all running calls.

---@class flemma.Options.keymaps.insert
---@field send? string|false Review, run, or send.

---@class flemma.Options.host
---@field path? string The host program. nil: $FLEMMA_HOST, the newest build in the plugin's folder, or `flemma` in $PATH.
---@field log? string The log file of plugin and host, which never contains keys. nil: `flemma.log` in `stdpath("log")`.
-- End.
