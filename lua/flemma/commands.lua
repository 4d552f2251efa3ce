--- `:Flemma`: its sub-commands, their completion, and the message for an unknown one. The
--- host carries most of them out.
---@class flemma.commands
local M = {}

---@class flemma.commands.Command
---@field help string One line.
---@field text? boolean Whether all that follows is one text.
---@field run? fun(arguments: string[], text: string, range?: flemma.selection.Range) Runs it here instead of in the host.
---@field range? boolean Whether it takes a range.
---@field anywhere? boolean Whether it needs no chat.
---@field words? string[] Completion of its words.
---@field complete? fun(before: string[], lead: string): string[] The same as a function.

--- Sends a message to the model, for which the user is asked if it is empty.
---@param text string
local function steer(text)
  local buffer = vim.api.nvim_get_current_buf()
  ---@param words string
  local function send(words)
    if vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_call(buffer, function()
        require("flemma.buffer").command("steer", { text = words })
      end)
    end
  end
  if text ~= "" then
    return send(text)
  end
  require("flemma.window").input({ prompt = "Steer: " }, function(words)
    if words and words ~= "" then
      -- As if it had been typed after the command, so that it can be recalled.
      vim.fn.histadd("cmd", "Flemma steer " .. words)
      send(words)
    end
  end)
end

--- Opens the file with the rules of `:Flemma allow`.
local function open_rules()
  local config = vim.env.XDG_CONFIG_HOME
  -- As the host does: a relative path does not count.
  if not config or not require("flemma.path").is_absolute(config) then
    config = vim.fs.normalize(vim.fn.has("win32") == 1 and "~/AppData/Local" or "~/.config")
  end
  require("flemma.window").file(vim.fs.joinpath(config, "flemma", "allow.toml"))
end

---@param before string[]
---@return string[]
local function complete_switch(before)
  return require("flemma.switch").complete(before)
end

---@param lead string
---@return string[]
local function complete_file(lead)
  return vim.fn.getcompletion(lead, "file")
end

--- Asks for a reason, and rejects the call at the cursor with it.
---@param line integer? The call's, from zero, if the cursor is elsewhere.
function M.reject(line)
  -- A reason for nothing would be lost; the host says that no call waits.
  if #require("flemma.render").pending(vim.api.nvim_get_current_buf()) == 0 then
    return require("flemma.buffer").command("reject", nil, line)
  end
  require("flemma.window").input({ prompt = "Reason for rejecting (optional): " }, function(words)
    if words then
      require("flemma.buffer").command("reject", words ~= "" and { text = words } or nil, line)
    end
  end)
end

---@type table<string, flemma.commands.Command>
M.COMMANDS = {
  ["ask"] = {
    help = "Put the selected lines and a question into the last chat, and send the question.",
    anywhere = true,
    range = true,
    run = function(_, text, range)
      require("flemma.ask").ask(text, range, false)
    end,
  },
  ["ask!"] = {
    help = "The same in a new chat.",
    anywhere = true,
    range = true,
    run = function(_, text, range)
      require("flemma.ask").ask(text, range, true)
    end,
  },
  ["edit"] = {
    help = "Let a model change the selected lines, and review what it proposes; alone, open the last edit.",
    anywhere = true,
    range = true,
    run = function(_, text, range)
      require("flemma.inline_edit").edit(text, range)
    end,
  },
  ["new"] = {
    help = "Open a new chat from a template.",
    anywhere = true,
    range = true,
    run = function(words, _, range)
      require("flemma.new").open(words[1], false, range)
    end,
    complete = function(before)
      local report = require("flemma.project").report(require("flemma.directory").here())
      return #before == 0 and require("flemma.template").names(report) or {}
    end,
  },
  ["rules"] = {
    help = "Add references to the project's rules, such as AGENTS.md, to this chat.",
    run = function()
      require("flemma.new").add_rules()
    end,
  },
  ["skills"] = {
    help = "Add the list of skills to this chat.",
    run = function()
      require("flemma.new").add_skills()
    end,
  },
  ["chats"] = {
    help = "Pick a chat of this project; with `all`, of all projects.",
    anywhere = true,
    words = { "all" },
    run = function(words)
      require("flemma.chats").pick(words[1] == "all")
    end,
  },
  ["search"] = {
    help = "Put the lines of all chats with these words into the quickfix list.",
    anywhere = true,
    run = function(words)
      require("flemma.chats").search(words)
    end,
  },
  ["pending"] = {
    help = "Pick a pending call of all open chats, and go to it.",
    anywhere = true,
    run = function()
      require("flemma.pending").pick()
    end,
  },
  ["paste"] = {
    help = "Save the image of the clipboard beside this chat, and refer to it.",
    run = function()
      require("flemma.paste").paste()
    end,
  },
  ["fork"] = { help = "Open a copy of this chat, up to the message at the cursor." },
  ["rename"] = {
    help = "Rename this chat's file to a title, by default its first words.",
    text = true,
  },
  ["export"] = {
    help = "Open this chat as Markdown, or as HTML under a name that ends in .html.",
    text = true,
    complete = function(_, lead)
      return complete_file(lead)
    end,
  },
  ["approve"] = {
    help = "Approve the call at the cursor, or the only pending call; with `all`, every one.",
    words = { "all" },
  },
  ["reject"] = {
    help = "Reject the call at the cursor, or the only pending call, for this reason.",
    text = true,
  },
  ["review"] = {
    help = "Decide about the call at the cursor; with `turn`, revert parts of what changed since a message.",
    text = true,
    complete = function(before, lead)
      return #before == 0 and { "turn" } or complete_file(lead)
    end,
  },
  ["try"] = { help = "Try the command at the cursor: run it where it changes nothing, and show what it would do." },
  ["allow"] = { help = "Choose a rule that approves calls like the one at the cursor." },
  ["allow!"] = {
    help = "Open the file with these rules.",
    anywhere = true,
    run = function()
      open_rules()
    end,
  },
  ["review!"] = { help = "Review every change of files in this chat, or only those that ask." },
  ["send"] = { help = "Send the chat now." },
  ["steer"] = {
    help = "Interrupt the model with a message. Calls that have not started are skipped.",
    run = function(_, text)
      steer(text)
    end,
  },
  ["queue"] = { help = "Send this when the model is done; without words, list queued messages.", text = true },
  ["queue!"] = { help = "Move the queued messages into the prompt." },
  ["cancel"] = { help = "Stop the request, or cancel all running and pending calls." },
  ["plan"] = { help = "Let this chat only read, search, and try commands, or end that." },
  ["fix"] = { help = "Apply the fix for the diagnostic on this line." },
  ["allow-file"] = { help = "Let this chat send the secret or outside file that this line names." },
  ["trust"] = {
    help = "Trust this chat's frontmatter, and ask about the project's settings. `project`, `tools`: only these.",
    words = { "project", "tools" },
  },
  ["trust!"] = { help = "Revoke that trust, and the grants of allow-file.", words = { "project", "tools" } },
  ["status"] = { help = "Show provider, model, and tools of this chat. `verbose`: show all options." },
  ["switch"] = {
    help = "Use another provider, model, or preset for this chat. Without arguments: pick one.",
    complete = complete_switch,
  },
  ["switch!"] = {
    help = "Use another provider, model, or preset for all chats.",
    anywhere = true,
    complete = complete_switch,
  },
  ["undo"] = {
    help = "Restore the files that the last call changed, or only this file.",
    text = true,
    complete = function(_, lead)
      return complete_file(lead)
    end,
  },
  ["redo"] = { help = "Take the last undo back." },
  ["rewind"] = { help = "Restore the files, or the chat, as they were at an earlier message." },
  ["refresh"] = { help = "Send files and other references as they are now, not as they were sent first." },
  ["usage"] = {
    help = "Show tokens and cost of this chat, and of all chats in the last 30 days or as many as you give.",
    anywhere = true,
  },
  ["log"] = { help = "Show the latest decisions and calls." },
  ["tool:cancel"] = { help = "Cancel the running call at the cursor, or the oldest one." },
  ["tool:cancel-all"] = { help = "Same as cancel." },
  ["tool:list"] = { help = "List running calls and all tools." },
  ["autopilot:enable"] = { help = "Continue without a key after approved calls." },
  ["autopilot:disable"] = { help = "Wait for a key after each step." },
  ["autopilot:status"] = { help = "Show whether autopilot is on." },
  ["sandbox:enable"] = { help = "Run commands in the sandbox." },
  ["sandbox:disable"] = { help = "Run commands without the sandbox, with all of your permissions." },
  ["sandbox:status"] = { help = "Show the sandbox that commands run in, or why there is none." },
  ["sandbox:clear"] = { help = "Remove what trials of this chat wrote to ignored folders." },
  ["mcp"] = { help = "List the MCP servers, or the tools of one.", anywhere = true },
  ["mcp:accept"] = { help = "Accept the tools of a server as it describes them now.", anywhere = true },
  ["mcp:restart"] = { help = "Restart an MCP server.", anywhere = true },
  ["mcp:trust"] = { help = "Trust the servers that the project's .mcp.json names.", anywhere = true },
  ["tutor"] = { help = "Open an offline tutorial chat.", anywhere = true },
  ["run"] = {
    help = "Run a command written as YAML: its name, then its arguments.",
    anywhere = true,
    run = function(words)
      require("flemma.buffer").command("run", { words = words, cwd = vim.uv.cwd() })
    end,
    complete = function(before, lead)
      return require("flemma.switch").complete_run(before, lead)
    end,
  },
  ["install"] = {
    help = "Install the host program of this version, or build it with cargo.",
    anywhere = true,
    run = function()
      require("flemma.install").start()
    end,
  },
  ["restart"] = {
    help = "Restart the host process.",
    anywhere = true,
    run = function()
      require("flemma.buffer").start()
      require("flemma.host").restart()
    end,
  },
}

---@return string[]
local function names()
  local all = vim.tbl_keys(M.COMMANDS)
  table.sort(all)
  return all
end

--- Returns the sub-commands of a group such as `tool`.
---@param name string
---@return string[]
local function members(name)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, name .. ":")
  end, names())
end

--- Returns the message for a name that is no sub-command.
---@param name string
---@return string
function M.unknown(name)
  local group = members(name)
  if #group > 0 then
    return (":Flemma %s is a group. Its commands: %s."):format(name, table.concat(group, ", "))
  end
  local nearest = require("flemma.edit_distance").nearest(name, names())
  if nearest then
    return ('There is no command "%s". Did you mean "%s"?'):format(name, nearest)
  end
  local others = members(name:match("^(.-):") or "")
  if #others == 0 then
    others = names()
  end
  return ('There is no command "%s". Commands: %s.'):format(name, table.concat(others, ", "))
end

local function list()
  local lines = {}
  for _, name in ipairs(names()) do
    lines[#lines + 1] = { (":Flemma %-18s %s\n"):format(name, M.COMMANDS[name].help) }
  end
  vim.api.nvim_echo(lines, false, {})
end

--- Parses `key=value` words, and numbers the others.
---@param words string[]
---@return table<string, string>
function M.arguments(words)
  local arguments, position = {}, 0
  for _, word in ipairs(words) do
    local key, value = word:match("^([%w_.]+)=(.*)$")
    if key then
      arguments[key] = value
    else
      position = position + 1
      arguments[tostring(position)] = word
    end
  end
  return arguments
end

--- Runs `:Flemma …`.
---@param words string[]
---@param line string The same as one text.
---@param range? flemma.selection.Range
function M.run(words, line, range)
  local name = words[1]
  if not name then
    return list()
  end
  local command, problem = M.COMMANDS[name], nil
  if not command then
    problem = M.unknown(name)
  elseif not command.anywhere and vim.bo.filetype ~= "chat" then
    problem = ":Flemma %s works in a chat, and this buffer is none. Open a file that ends in .chat."
    problem = problem:format(name)
  elseif range and not command.range then
    problem = (":Flemma %s takes no range. Run it without one."):format(name)
  end
  if problem then
    return require("flemma.notices").notify({ level = "error", message = problem })
  end
  local rest, text = vim.list_slice(words, 2), vim.trim(line:sub(#name + 1))
  if command.run then
    command.run(rest, text, range)
  elseif command.text then
    require("flemma.buffer").command(name, text ~= "" and { text = text } or nil)
  else
    require("flemma.buffer").command(name, M.arguments(rest))
  end
end

--- Completes the sub-command or its words.
---@param lead string The part of this word before the cursor.
---@param line string The command line up to the cursor.
---@return string[]
function M.complete(lead, line)
  local words = vim.split(vim.trim(line:sub(1, #line - #lead)), "%s+", { trimempty = true })
  local candidates = names()
  if #words > 1 then
    local command = M.COMMANDS[words[2]] or {}
    candidates = command.complete and command.complete(vim.list_slice(words, 3), lead) or command.words or {}
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, candidates)
end

return M
