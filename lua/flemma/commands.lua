--- `:Flemma`: its sub-commands, which the host lists and mostly carries out, and their completion.
---@class flemma.commands
local M = {}

---@class flemma.commands.Command
---@field name string
---@field help string One line.
---@field words string[] Completion of its words.

---@type flemma.commands.Command[]? As the host lists them, once they are needed.
local listed

--- Asks the host once.
local function all()
  listed = listed or require("flemma.lookup").wait("query", { name = "commands", arguments = {} })
  return listed or {}
end

--- Sends a message to the model, for which the user is asked if it is empty.
---@param text string
local function steer(_, text)
  local buffer = vim.api.nvim_get_current_buf()
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

--- What runs here instead of in the host.
---@type table<string, fun(words: string[], text: string, range?: flemma.selection.Range)>
local RUN = {
  ["ask"] = function(_, text, range)
    require("flemma.ask").ask(text, range, false)
  end,
  ["ask!"] = function(_, text, range)
    require("flemma.ask").ask(text, range, true)
  end,
  ["edit"] = function(_, text, range)
    require("flemma.inline_edit").edit(text, range)
  end,
  ["new"] = function(words, _, range)
    require("flemma.new").open(words[1], false, range)
  end,
  ["rules"] = function()
    require("flemma.new").add("add_rules")
  end,
  ["skills"] = function()
    require("flemma.new").add("add_skills")
  end,
  ["chats"] = function(words)
    require("flemma.chats").pick(words[1] == "all")
  end,
  ["search"] = function(words)
    require("flemma.chats").search(words)
  end,
  ["pending"] = function()
    require("flemma.pending").pick()
  end,
  ["paste"] = function()
    require("flemma.paste").paste()
  end,
  ["allow!"] = open_rules,
  ["steer"] = steer,
  ["run"] = function(words)
    require("flemma.buffer").command("run", { words = words, cwd = vim.uv.cwd() })
  end,
}

--- Commands that take a range.
local RANGE = { ask = true, ["ask!"] = true, edit = true, new = true }

--- Commands of |RUN| that work only in a chat. The host checks its own.
local IN_CHAT = { rules = true, skills = true, paste = true, steer = true }

--- Commands of the host whose words are one text.
local TEXT = { export = true, queue = true, reject = true, rename = true, review = true, undo = true }

--- What needs no host.
local WITHOUT_HOST = {
  ["install"] = function()
    require("flemma.install").start()
  end,
  ["restart"] = function()
    require("flemma.buffer").start()
    require("flemma.host").restart()
  end,
}

local function complete_switch(before)
  return require("flemma.switch").complete(before)
end

local function complete_file(_, lead)
  return vim.fn.getcompletion(lead, "file")
end

--- Completion of words that the host does not list.
---@type table<string, fun(before: string[], lead: string): string[]>
local COMPLETE = {
  ["new"] = function(before)
    return #before == 0 and require("flemma.new").query("templates") or {}
  end,
  ["export"] = complete_file,
  ["undo"] = complete_file,
  ["review"] = function(before, lead)
    return #before == 0 and { "turn" } or complete_file(before, lead)
  end,
  ["switch"] = complete_switch,
  ["switch!"] = complete_switch,
  ["run"] = function(before, lead)
    return require("flemma.switch").complete_run(before, lead)
  end,
}

local function list()
  local lines = vim.tbl_map(function(command)
    return { (":Flemma %-18s %s\n"):format(command.name, command.help) }
  end, all())
  vim.api.nvim_echo(lines, false, {})
end

local function complain(message)
  require("flemma.notices").notify({ level = "error", message = message })
end

local function find(name)
  return vim.iter(all()):find(function(command)
    return command.name == name
  end)
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
  elseif WITHOUT_HOST[name] and not range then
    return WITHOUT_HOST[name]()
  end
  -- Nothing here waits for the host: a command that comes before it is ready, or at the moment
  -- of a Ctrl-C, which would end the wait, must not be lost.
  if range and not RANGE[name] then
    return complain((":Flemma %s takes no range. Run it without one."):format(name))
  elseif IN_CHAT[name] and vim.bo.filetype ~= "chat" then
    return complain((":Flemma %s works only in a chat. Open a file that ends in .chat."):format(name))
  end
  local rest, text = vim.list_slice(words, 2), vim.trim(line:sub(#name + 1))
  if RUN[name] then
    RUN[name](rest, text, range)
  elseif TEXT[name] then
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
  local candidates
  if #words > 1 then
    local complete = COMPLETE[words[2]]
    candidates = complete and complete(vim.list_slice(words, 3), lead) or (find(words[2]) or {}).words or {}
  else
    candidates = vim.tbl_map(function(command)
      return command.name
    end, all())
    -- What helps before there is a host program.
    candidates = #candidates > 0 and candidates or vim.tbl_keys(WITHOUT_HOST)
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, candidates)
end

return M
