---@meta
--- The options of `require("flemma").setup()`, for LuaLS. Written by the tests of
--- the host from its definitions; see CONTRIBUTING.md.

-- Options:
---@class flemma.Options
---@field provider? "anthropic"|"openai"|"gemini"|"vertex"|"local"|"openai_compatible"|"llamacpp"|"ollama"|"groq"|"together"|"openrouter"|"deepseek"|"moonshot"|"xai"|"tutor"|"auto" The provider that chats are sent to. |flemma-providers| lists the address and the environment variable of the key of each. "auto" uses the first of Anthropic, OpenAI, Gemini, and Vertex AI whose key is set, else a server whose address is set or that runs on its usual port, else the built-in tutor.
---@field model? string The model, by the provider's name for it. nil: the provider's default.
---@field parameters? flemma.Options.parameters Parameters of each request. A table named after a provider holds parameters for that provider alone, which win over the general ones:
---@field models? table<string, { context?: integer, output?: integer, price?: { input?: number, output?: number, cache_read?: number, cache_write?: number, cache_write_long?: number }, thinking?: "none"|"budget"|"levels", levels?: string[], thinking_min?: integer, thinking_max?: integer, thinking_default?: boolean, thinking_off?: boolean, thinking_between_tools?: boolean, thinking_shown?: boolean, preserved_thinking?: boolean, system_messages?: boolean, compaction?: boolean, temperature?: boolean, tools?: boolean, images?: boolean, pdf?: boolean, lifecycle?: "active"|"deprecated"|"retired", retires_at?: string }> Properties of models, by the provider's names for them. They override the built-in catalogue and what the provider's own list of models says; see |flemma-model-lists|. Models that are in none of them work as well. Prices are in dollars per million tokens:
---@field presets? table<string, string|table> Names for a combination of provider, model, and parameters. A name begins with `$`; its value is a line as for |:Flemma-switch|, or a table:
---@field tools? flemma.Options.tools
---@field chats? flemma.Options.chats
---@field checkpoints? flemma.Options.checkpoints
---@field context? flemma.Options.context
---@field sandbox? flemma.Options.sandbox What commands can do on this machine; see |flemma-sandboxing|. A chat can restrict it: `flemma.opt.sandbox = { policy = { network = false } }`.
---@field mcp? flemma.Options.mcp
---@field trust? flemma.Options.trust
---@field ui? flemma.Options.ui
---@field folds? flemma.Options.folds
---@field keymaps? flemma.Options.keymaps Keys in chat buffers.
---@field highlights? table<string, string|table> Highlight groups by name in lower case. The value is the group to link to, or a definition as in |nvim_set_hl()|:
---@field host? flemma.Options.host
---@field install? flemma.Options.install

---@class flemma.Options.parameters
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field tool_protocol? "auto"|"native"|"text" How the model gets its tools. "native": by the provider's tool calling. "text": the system prompt describes the tools, and calls are read from the answer; see |flemma-text-tools|. nil or "auto": "text" for models that cannot call tools according to `models` or the catalogue.
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
---@field api_key? string The API key, if it is neither in the environment nor in a key store.
---@field api_key_command? string[] A program, with its arguments, that prints the key. It runs without a shell, and only if the key is found nowhere else; see |flemma-keys-of-providers|.
---@field base_url? string The server's base URL. It includes the version, usually `/v1`, except for Anthropic and Gemini. nil: the environment variable, else the provider's usual address; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, for example for a company gateway; see |flemma-network|.
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field thinking_budget? integer Number of tokens for thinking; overrides `thinking`. A model that takes levels gets the nearest level.

---@class flemma.Options.parameters.openai
---@field api_key? string The API key, if it is neither in the environment nor in a key store.
---@field api_key_command? string[] A program, with its arguments, that prints the key. It runs without a shell, and only if the key is found nowhere else; see |flemma-keys-of-providers|.
---@field base_url? string The server's base URL. It includes the version, usually `/v1`, except for Anthropic and Gemini. nil: the environment variable, else the provider's usual address; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, for example for a company gateway; see |flemma-network|.
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field reasoning? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much the model thinks, in OpenAI's terms and sent unchanged; overrides `thinking`. Not every model supports every value.
---@field reasoning_summary? "auto"|"concise"|"detailed"|"none" How OpenAI summarizes the model's thinking. nil: "auto" if `thinking` or `reasoning` is set, which some models allow only for organizations that OpenAI has verified; "none": no summary.

---@class flemma.Options.parameters.gemini
---@field api_key? string The API key, if it is neither in the environment nor in a key store.
---@field api_key_command? string[] A program, with its arguments, that prints the key. It runs without a shell, and only if the key is found nowhere else; see |flemma-keys-of-providers|.
---@field base_url? string The server's base URL. It includes the version, usually `/v1`, except for Anthropic and Gemini. nil: the environment variable, else the provider's usual address; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, for example for a company gateway; see |flemma-network|.
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field thinking_budget? integer Number of tokens for thinking; overrides `thinking`. A model that takes levels gets the nearest level.

---@class flemma.Options.parameters.vertex
---@field api_key? string The API key, if it is neither in the environment nor in a key store.
---@field api_key_command? string[] A program, with its arguments, that prints the key. It runs without a shell, and only if the key is found nowhere else; see |flemma-keys-of-providers|.
---@field base_url? string The server's base URL. It includes the version, usually `/v1`, except for Anthropic and Gemini. nil: the environment variable, else the provider's usual address; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, for example for a company gateway; see |flemma-network|.
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.
---@field thinking_budget? integer Number of tokens for thinking; overrides `thinking`. A model that takes levels gets the nearest level.
---@field project_id? string The Google Cloud project that is billed. nil: $GOOGLE_CLOUD_PROJECT.
---@field location? string The region in which the model runs. nil: $GOOGLE_CLOUD_LOCATION, or "global".

---@class flemma.Options.parameters.local
---@field model_path? string The model, a GGUF file. `flemma local` explains how to get one.
---@field server? string The program of llama.cpp's server. nil: `llama-server` in $PATH.
---@field extra_args? string[] Additional arguments for the server.
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.

---@class flemma.Options.parameters.server
---@field api_key? string The API key, if it is neither in the environment nor in a key store.
---@field api_key_command? string[] A program, with its arguments, that prints the key. It runs without a shell, and only if the key is found nowhere else; see |flemma-keys-of-providers|.
---@field base_url? string The server's base URL. It includes the version, usually `/v1`, except for Anthropic and Gemini. nil: the environment variable, else the provider's usual address; see |flemma-providers|.
---@field ca_file? string A PEM file of certificate authorities that are trusted for this provider in addition to those of the system, for example for a company gateway; see |flemma-network|.
---@field max_tokens? integer|string Maximum number of tokens of an answer, or a share of the model's limit such as "50%", at least 1024 tokens. nil, or a share when the model's limit is not known: the provider's default; for Anthropic see |flemma-thinking|.
---@field temperature? number Randomness of the answer. nil: not sent.
---@field thinking? "minimal"|"low"|"medium"|"high"|"xhigh"|"max"|integer|false How much the model thinks before it answers: a level, a number of tokens, or false.
---@field cache_retention? "none"|"short"|"long" How long the provider may cache the request, so that the next one costs less. "none" asks it not to.
---@field timeout? number Seconds without data, before or during an answer, after which the request fails. nil: 120.
---@field connect_timeout? number Seconds to wait for a connection. nil: 10.
---@field max_retries? integer How often a request is repeated if it fails before its answer begins: too many requests, an overloaded server, a broken connection. nil: 5.
---@field max_retry_wait? number Longest wait in seconds that a server may demand with `Retry-After`. If it demands more, a message says when to try again. nil: 60.

---@class flemma.Options.tools
---@field require_approval? boolean true: calls that no rule decides ask. false: they run.
---@field auto_approve? string[]|(fun(tool_name: string, input: table, context: table): boolean|"deny"|nil)|string The calls that run without asking: a list of tool names, presets, and modules, or a function:
---@field presets? table<string, { approve?: string[], deny?: string[] }> Named lists for `auto_approve`. A tool that one of them denies stays denied even if another approves it. Built in are "$readonly" (read), "$default" (read, write, edit, apply_patch), and "$standard" (those of "$default", find, grep, ls, tool_search); "$shell-safe" approves `bash` for commands that only read, see |flemma-shell-safe|; "$trial" tries the other commands, and approves those that change nothing, see |flemma-trials-rule|.
---@field offer? string[] Tools that models are offered in addition to the default ones, see |flemma-built-in-tools|:
---@field web? boolean|"search"|"fetch" Whether the provider may search the web and read pages while it answers, if it offers that: true, false, "search", or "fetch". The provider does both itself, so you are not asked, and what the model puts into queries and addresses leaves the chat. See |flemma-web|.
---@field web_allowed_domains? string[] The only domains that the provider's web tools reach, such as "docs.rs" or "example.com/blog". Empty: all.
---@field web_blocked_domains? string[] Domains that the provider's web tools never reach.
---@field web_max_uses? integer Maximum number of searches, and of pages read, in one request. Each request that continues a paused answer may make as many again. nil: the provider decides.
---@field autopilot? flemma.Options.tools.autopilot
---@field default_timeout? number Maximum number of seconds that a tool runs.
---@field review? "after"|"always"|"none" When you see changes of files that a rule approves. "after": when the run is over, one line says how many files and lines changed, with the diffs of at most three files and 60 lines; <CR> opens them all. "always": each call of `write`, `edit`, and `apply_patch` waits for you. "none": neither. Calls that no rule approves wait in any case. See |flemma-review|.
---@field diagnostics? boolean Whether the result of a call that changes a file names the new syntax errors, and the new diagnostics of language servers. See |flemma-new-problems|.
---@field review_delay? integer Milliseconds that a pending call must be visible before one press of Alt-Enter runs it, so that a key that was meant for something else does not. Another press runs it at once; a key that is held down does not. 0: no delay.
---@field max_concurrent? integer Maximum number of calls of a chat that run at the same time; 0: no limit.
---@field show_spinner? boolean Whether running calls show a spinner.
---@field cursor_after_result? "result"|"stay"|"next" Where the cursor goes when a call that asked gets its result: "result": to the result, "stay": nowhere, "next": to the next `@You:`. A window at the end of a chat always follows new text.
---@field lock_buffer? boolean Whether the chat is not 'modifiable' while its tools run. If you are typing at that moment, the text is refused, and the rest of it runs as commands.
---@field script_paths? string[] Folders with script tools, in addition to `flemma/tools` in your configuration folder; see |flemma-script-tools|.
---@field script_libraries? string[] Folders with Python modules for all script tools, in addition to each folder's `lib`.
---@field bash? flemma.Options.tools.bash
---@field http_get? flemma.Options.tools.http_get
---@field [string] table Of the tool of that name.

---@class flemma.Options.tools.autopilot
---@field enabled? boolean Whether approved calls run and their results are sent without a key. Autopilot stops if the same call fails with the same error in three requests.
---@field max_turns? integer Maximum number of requests in a row without a key from you.
---@field max_cost? number Price in US dollars at which autopilot stops and waits for a key. The request that exceeds it is the last. Before a request to a model without a known price, which could not be stopped, Neovim asks; `flemma send` fails. nil: no limit.

---@class flemma.Options.tools.bash
---@field shell? string The shell that runs commands. nil: `bash`.
---@field cwd? string The folder in which commands run. "$FLEMMA_BUFFER_PATH" is the folder of the chat, "$CWD" Neovim's working directory, "~" your home. A relative path starts in "$CWD".
---@field env? table<string, string> Environment variables for commands, with their values.
---@field allow? string[] Commands that "$shell-safe" also approves: programs, or programs with the words after them, such as "tokei" or "go test".
---@field deny? string[] Commands that never run, even if approved. They are recognized by name, which prevents mistakes, not attacks: what a program starts itself is not checked. A project's list is added to yours.
---@field unlisted? "ask"|"deny" Commands that "$shell-safe" would not approve. "ask": the other rules decide, and without one you are asked. "deny": they are refused.
---@field trial? boolean Whether commands can be tried with `:Flemma try`, which runs them where they change nothing, to see what they would do. See |flemma-trials|.
---@field trial_home? string[] Files and folders in your home folder that commands also see when "$trial" tries them, besides the project and toolchains: "~/.config/foo". Secrets in them stay hidden, and so does a folder with more than 30,000 entries. See |flemma-trials-rule|.

---@class flemma.Options.tools.http_get
---@field allow? string[] Hosts that `http_get` fetches from without asking: "docs.rs", "*.example.org", "localhost:8080". Addresses that only this machine or its network can reach are refused unless listed here: "localhost", "127.0.0.1", "10.0.0.0/8".

---@class flemma.Options.chats
---@field folder? string Where `:Flemma new` and `:Flemma ask` make new chats; relative to the working directory, such as ".". nil: a folder for each project in `stdpath("state")/flemma`. References such as `@./src` then start from the project, and otherwise from the chat's folder. See |flemma-new|.
---@field autosave? "new"|"all"|false Which chats are saved after each answer and each result: "new", those that `:Flemma new`, `:Flemma ask`, and `:Flemma tutor` made; "all", also files that existed before; false, none. See |flemma-autosave|.
---@field templates? string Folder of your templates for `:Flemma new`, see |flemma-templates|. nil: `flemma/templates` in `stdpath("config")`.

---@class flemma.Options.checkpoints
---@field enabled? boolean Whether files are stored before a call changes them, so that `:Flemma undo` can restore them; see |flemma-undo|.
---@field limit? integer Maximum size of a project's checkpoints in MB. Those of the oldest turns are removed first, and a message says so.

---@class flemma.Options.context
---@field compact_at? string|false The share of the model's context from which a summary is offered, see |flemma-summaries|. false: never. It is also never offered for a model whose context is not known.
---@field auto_compact? boolean Whether the model then writes the summary, and it is put into the chat, before the next request without asking you.

---@class flemma.Options.sandbox
---@field enabled? boolean Whether commands are sandboxed, and `write` and `edit` restricted to `rw_paths`.
---@field backend? "auto"|"required"|"bwrap" "auto": bubblewrap, if it is installed and works; otherwise commands run unrestricted, and pending calls say UNSANDBOXED. "required" and "bwrap": no command runs without a sandbox.
---@field sockets? string[] Sockets that commands can reach, by name: "ssh-agent" (for `git push`), "gpg-agent", "tmux", "nvim", "dbus", "docker", "podman", "x11", "wayland"; or by path. A command can do everything that the program behind the socket can do for you: with docker or tmux, that is everything.
---@field env? string[] Environment variables that commands and MCP servers get in addition to those in |flemma-sandbox-environment|, such as "GITHUB_TOKEN" or "AWS_*". They apply without a sandbox too.
---@field reveal? string[] Secret files and folders (|flemma-secrets|) that tools, references, and commands can read, such as "$CWD/.env" or "~/.ssh/config". A folder includes everything in it. Links are not followed: name the file that a link points to.
---@field policy? flemma.Options.sandbox.policy
---@field backends? flemma.Options.sandbox.backends

---@class flemma.Options.sandbox.policy
---@field rw_paths? string[] Folders below which files can be written. "$CWD" is Neovim's working directory, "$FLEMMA_BUFFER_PATH" the folder of the chat, "~" your home. Git's hooks and configuration, `.envrc`, and similar files stay unchanged; see |flemma-sandbox-limits|.
---@field network? boolean|{ allow?: string[] } What commands can reach of the network: true, everything; false, nothing; or only some hosts: `{ allow = { "crates.io", "*.npmjs.org" } }`. See |flemma-sandbox-network|.
---@field allow_privileged? boolean Whether commands keep your privileges, such as root's.

---@class flemma.Options.sandbox.backends
---@field bwrap? flemma.Options.sandbox.backends.bwrap

---@class flemma.Options.sandbox.backends.bwrap
---@field path? string The bubblewrap program. nil: /usr/bin/bwrap, else the first in $PATH.
---@field extra_args? string[] Additional arguments for bubblewrap, after Flemma's.

---@class flemma.Options.mcp
---@field servers? table<string, { command?: string|string[], args?: string[], env?: table<string, string>, cwd?: string, url?: string, headers?: table<string, string>, oauth?: { client_id?: string, client_secret?: string, client_metadata_url?: string, scopes?: string[], callback_port?: integer }, timeout?: integer, type?: "stdio"|"http" }> Servers of the Model Context Protocol, see |flemma-mcp-servers|. A server is a program with its arguments, or an address:
---@field project? boolean Whether the servers of a project's `.mcp.json` are used as well, after `:Flemma mcp:trust`.

---@class flemma.Options.trust
---@field frontmatter? "ask"|"always" Whether frontmatter that you did not type can loosen your options. "ask": only after `:Flemma trust`. "always": yes.
---@field unrecognized_calls? "review"|"policy" What happens to calls that were in the file when it was opened and that no provider made here. "review": they ask. "policy": the rules decide.

---@class flemma.Options.ui
---@field highlight? boolean Markdown in messages, and code in the colors of its language. false: only the structure of the chat has colors. See |flemma-looks|.
---@field winbar? boolean Provider, model, phase, tokens, cost, and context above each window of a chat that has no 'winbar' of yours. See |flemma-status-line|.
---@field usage? integer|false Seconds for which the time and cost of an answer are shown behind the last role marker. false: only in |:Flemma-usage| and the status line.
---@field bell? "bell"|"osc9"|false Signal to the terminal when a chat that is not visible needs you: "bell", or "osc9", a desktop notification in terminals that support OSC 9. See |flemma-hidden|.

---@class flemma.Options.folds
---@field enabled? boolean Whether messages, thinking, calls, and results can be folded; see |flemma-folds|. A window whose 'foldmethod' is not "manual" keeps its own.
---@field closed? "frontmatter"|"system"|"message"|"thinking"|"tool_use"|"tool_result"[] The kinds of folds that are closed as soon as they are complete. A pending call is closed only if all of its arguments are shown below its result's header. Errors stay open.

---@class flemma.Options.keymaps
---@field enabled? boolean false: no keys are mapped.
---@field normal? flemma.Options.keymaps.normal
---@field insert? flemma.Options.keymaps.insert
---@field leader? flemma.Options.keymaps.leader
---@field operator? flemma.Options.keymaps.operator

---@class flemma.Options.keymaps.normal
---@field send? string|false Review, run, or send. false: no key.
---@field tool_execute? string|false Run the call at the cursor.
---@field review? string|false Decide about the pending call at the cursor: review what it would change, or see all of it in a window whose keys run or reject it. See |flemma-decision|.
---@field try? string|false Try the command at the cursor: run it where it changes nothing, and see what it would do. See |flemma-trials|.
---@field approve_all? string|false Run every pending call.
---@field reject? string|false Reject the call at the cursor, or the only pending one, and ask you for a reason.
---@field cancel? string|false Stop the answer, or all running and pending calls.
---@field next_message? string|false Go to the next message; see |flemma-navigation|.
---@field previous_message? string|false Go to the message before.
---@field next_call? string|false Go to the next call.
---@field previous_call? string|false Go to the call before.
---@field definition? string|false Go from a call to its result, from a result to its call, or to a file.
---@field outline? string|false List messages, calls, and results; <CR> goes to one.

---@class flemma.Options.keymaps.insert
---@field send? string|false Review, run, or send.

---@class flemma.Options.keymaps.leader
---@field tool_execute? string|false Run the call at the cursor. For terminals without the Alt key.
---@field try? string|false Try the command at the cursor.
---@field approve_all? string|false Run every pending call.
---@field reject? string|false Reject the call at the cursor, or the only pending one.
---@field allow? string|false Choose a rule that approves calls like the one at the cursor.

---@class flemma.Options.keymaps.operator
---@field inner_message? string|false The text of a message, in Visual mode and after an operator.
---@field a_message? string|false The same with the role marker and the blank lines below.

---@class flemma.Options.host
---@field path? string The host program. nil: $FLEMMA_HOST, the newest installed or built program in the plugin's folder, or `flemma` in $PATH.
---@field log? string The log file of plugin and host, which never contains keys. nil: `flemma.log` in `stdpath("log")`.

---@class flemma.Options.install
---@field url? string The folder from which |:Flemma-install| downloads the archive with the host program. Its digest is part of the plugin, so a mirror needs no trust. nil: the archives of the release.
-- End.
