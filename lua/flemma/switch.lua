--- The picker of `:Flemma switch`, and the completion of `:Flemma switch` and `:Flemma run`.
---@class flemma.switch
local M = {}

---@type flemma.protocol.Choices The last message of the host.
local known = { ask = false, all = false, items = {}, commands = {} }

--- Switches the chat from which the picker was opened, or every chat.
local function switch(buffer, words)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.api.nvim_buf_call(buffer, function()
      require("flemma.buffer").command(known.all and "switch!" or "switch", words)
    end)
  end
end

local function name_of(item)
  return item.name
end

--- Returns a line of the picker: the name, and what to know about it.
local function label_of(item)
  return item.note == "" and item.name or ("%s  (%s)"):format(item.name, item.note)
end

local function find(name)
  return vim.iter(known.items):find(function(item)
    return item.name == name
  end)
end

--- Asks for a preset or a provider, and then for its model.
local function ask()
  local buffer = vim.api.nvim_get_current_buf()
  local prompt = known.all and "Switch every chat to" or "Switch this chat to"
  require("flemma.window").select(known.items, { prompt = prompt, format_item = label_of }, function(item)
    if not item then
      return
    elseif #item.models == 0 then
      return switch(buffer, { ["1"] = item.name })
    end
    local of_models = { prompt = "Model of " .. item.name, format_item = label_of }
    require("flemma.window").select(item.models, of_models, function(model)
      if model then
        switch(buffer, { ["1"] = item.name, ["2"] = model.name })
      end
    end)
  end)
end

--- Stores the choices, and opens the picker if the host wants it.
---@param message flemma.protocol.Choices
function M.choices(message)
  known = message
  if message.ask then
    ask()
  end
end

--- Completes `:Flemma switch`.
---@param before string[] The words before the cursor.
---@return string[]
function M.complete(before)
  if #before == 0 then
    return vim.tbl_map(name_of, known.items)
  end
  local item = find(before[1])
  local models = item and #before == 1 and vim.tbl_map(name_of, item.models) or {}
  return vim.list_extend(models, item and item.parameters or {})
end

--- Completes `:Flemma run`: the name of a command, then files.
---@param before string[] The words before the cursor.
---@param lead string
---@return string[]
function M.complete_run(before, lead)
  if #before > 0 then
    return vim.fn.getcompletion(lead, "file")
  end
  local names = {}
  for _, folder in ipairs(known.commands) do
    for file in vim.fs.dir(vim.fs.abspath(folder)) do
      names[#names + 1] = file:match("^(.+)%.ya?ml$")
    end
  end
  table.sort(names)
  return vim.fn.uniq(names)
end

return M
