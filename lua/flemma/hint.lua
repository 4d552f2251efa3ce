--- Hints about keys: for a pending call, and to stop a request.
---@class flemma.hint
local M = {}

local config = require("flemma.config")

--- Returns a key in words: `<M-CR>` is Alt-Enter, `<C-]>` is Ctrl-].
---@param key string As in a mapping.
---@return string
function M.name(key)
  local inner = key:match("^<(.+)>$")
  if not inner then
    return key
  end
  local name = inner
    :gsub("^[Cc]%-(%l)$", function(letter)
      return "Ctrl-" .. letter:upper()
    end)
    :gsub("^[Cc]%-", "Ctrl-")
    :gsub("^[MmAa]%-", "Alt-")
    :gsub("^[Ss]%-", "Shift-")
    :gsub("[Cc][Rr]$", "Enter")
    :gsub("[Ll]eader>", "Leader ")
  return name
end

--- Keys for a pending call and their actions, and which of them are left out first where they do
--- not fit. The first opens a window that has them all.
local ACTIONS = {
  { "review", "%s: decide", 1 },
  { "tool_execute", "%s runs", 3 },
  { "try", "%s tries", 4 },
  { "approve_all", "%s runs all", 5 },
  { "reject", "%s rejects", 2 },
}
--- The same as commands, for those who have no keymaps.
local COMMANDS = {
  { ":Flemma approve [all] runs", 2 },
  { ":Flemma reject rejects", 1 },
}

--- Joins hints, as many as fit.
---@param all { [1]: string, [2]: integer }[] Texts, and the order in which they matter.
---@param room integer In columns.
local function fitting(all, room)
  local text
  for most = #ACTIONS, 1, -1 do
    local words = {}
    for _, hint in ipairs(all) do
      words[#words + 1] = hint[2] <= most and hint[1] or nil
    end
    text = #words > 0 and table.concat(words, " · ") or text
    if vim.api.nvim_strwidth(text) <= room then
      break
    end
  end
  return text
end

--- Hints by their room, which many calls share; valid for these keymaps.
local known = { keymaps = nil, texts = {} } ---@type { keymaps: table?, texts: table<string, string> }

--- Returns the keys for a pending call in one line, or the commands if there are no keymaps.
---@param room integer In columns.
---@param tries boolean? Whether the call can be tried.
---@return string
function M.text(room, tries)
  local all, keymaps = {}, config.get().keymaps
  if known.keymaps ~= keymaps then
    known = { keymaps = keymaps, texts = {} }
  end
  local which = room .. (tries and " tries" or "")
  local text = known.texts[which]
  if text then
    return text
  end
  for _, action in ipairs(keymaps.enabled and ACTIONS or {}) do
    local key = keymaps.normal[action[1]]
    if key and key ~= "" and (tries or action[1] ~= "try") then
      all[#all + 1] = { action[2]:format(M.name(key)), action[3] }
    end
  end
  text = fitting(#all > 0 and all or COMMANDS, room)
  known.texts[which] = text
  return text
end

--- Returns the key that opens a review, if there is one.
---@return string?
function M.review()
  local keymaps = config.get().keymaps
  local key = keymaps.enabled and keymaps.normal.review or ""
  return key and key ~= "" and M.name(key) or nil
end

--- Returns how to stop a request, to append to a label.
---@return string
function M.cancels()
  local keymaps = config.get().keymaps
  local key = keymaps.enabled and keymaps.normal.cancel or ""
  return key and key ~= "" and (" (%s stops it)"):format(M.name(key)) or ""
end

return M
