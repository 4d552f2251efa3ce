--- Asks what to switch to, with the user's own picker, and completes what
--- `:Flemma switch` and `:Flemma run` take. What there is to choose from, and
--- what a choice does, is the host's business.
---@class flemma.switch
local M = {}

---@type flemma.protocol.Choices
local known = { ask = false, all = false, items = {}, commands = {} }

--- Switches the chat that the question was asked in, or every chat.
---@param buffer integer
---@param words table<string, string>
local function switch(buffer, words)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.api.nvim_buf_call(buffer, function()
      require("flemma.buffer").command(known.all and "switch!" or "switch", words)
    end)
  end
end

---@param name string
---@return flemma.protocol.Choice?
local function find(name)
  for _, item in ipairs(known.items) do
    if item.name == name then
      return item
    end
  end
end

--- Asks for a preset or a provider, and then for its model.
local function ask()
  local names = vim.tbl_map(function(item)
    return item.name
  end, known.items)
  local buffer = vim.api.nvim_get_current_buf()
  vim.ui.select(names, { prompt = known.all and "Switch every chat to" or "Switch this chat to" }, function(name)
    local item = name and find(name)
    if not item then
      return
    elseif #item.models == 0 then
      switch(buffer, { ["1"] = name })
      return
    end
    vim.ui.select(item.models, { prompt = "Model of " .. name }, function(model)
      if model then
        switch(buffer, { ["1"] = name, ["2"] = model })
      end
    end)
  end)
end

--- Takes what there is, and asks when the host wants it.
---@param message flemma.protocol.Choices
function M.choices(message)
  known = message
  if message.ask then
    ask()
  end
end

--- Completes behind `:Flemma switch`.
---@param before string[] The words that stand already.
---@return string[]
function M.complete(before)
  if #before == 0 then
    return vim.tbl_map(function(item)
      return item.name
    end, known.items)
  end
  local item = find(before[1])
  if not item then
    return {}
  end
  local words = vim.list_slice(item.parameters)
  return #before == 1 and vim.list_extend(vim.list_slice(item.models), words) or words
end

--- Completes the name of a command behind `:Flemma run`; what it takes are files.
---@param before string[] The words that stand already.
---@param lead string
---@return string[]
function M.complete_run(before, lead)
  if #before > 0 then
    return vim.fn.getcompletion(lead, "file")
  end
  local names = {}
  for _, folder in ipairs(known.commands) do
    for file in vim.fs.dir(vim.fs.abspath(folder)) do
      names[file:match("^(.+)%.ya?ml$") or ""] = true
    end
  end
  names[""] = nil
  local sorted = vim.tbl_keys(names)
  table.sort(sorted)
  return sorted
end

return M
