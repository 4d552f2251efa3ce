--- The chats in the pickers of other plugins: fzf-lua and snacks.nvim here, telescope.nvim in
--- its own extension. All show what |flemma.chats| lists.
---@class flemma.pickers
local M = {}

---@class flemma.pickers.Options
---@field all? boolean Whether the chats of all projects are listed.
--- Other fields are options of the picker.

local function title(all)
  return require("flemma.chats").prompt(all or false)
end

--- Returns the chats to pick from. Without any, there is a message instead of an empty picker.
local function found(given)
  return require("flemma.chats").found(given and given.all or false)
end

--- Returns the options of a picker: its own, and those that the user gave.
local function options(own, given)
  given = vim.tbl_extend("force", {}, given or {})
  given.all = nil
  return vim.tbl_deep_extend("force", own, given)
end

--- Picks a chat with fzf-lua.
---@param given flemma.pickers.Options?
function M.fzf_lua(given)
  local items = found(given)
  if not items then
    return
  end
  local lines, paths = {}, {}
  for _, item in ipairs(items) do
    lines[#lines + 1] = item.text
    paths[item.text] = item.path
  end
  require("fzf-lua").fzf_exec(
    lines,
    options({
      prompt = title(given and given.all) .. "> ",
      -- The last changed first, until something is typed.
      fzf_opts = { ["--tiebreak"] = "index", ["--no-multi"] = true },
      actions = {
        default = function(selected)
          local path = selected and paths[selected[1]]
          if path then
            require("flemma.chats").open(path)
          end
        end,
      },
    }, given)
  )
end

--- Picks a chat with the picker of snacks.nvim.
---@param given flemma.pickers.Options?
function M.snacks(given)
  local chats = found(given)
  if not chats then
    return
  end
  local items = vim.tbl_map(function(item)
    return { text = item.text, file = item.path }
  end, chats)
  require("snacks").picker.pick(options({
    title = title(given and given.all),
    items = items,
    format = "text",
    preview = "file",
    confirm = function(picker, item)
      picker:close()
      if item then
        require("flemma.chats").open(item.file)
      end
    end,
  }, given))
end

--- Picks a chat with telescope.nvim.
---@param given flemma.pickers.Options?
function M.telescope(given)
  local items = found(given)
  if not items then
    return
  end
  local defaults = require("telescope.config").values
  local all = given and given.all or false
  local own = options({}, given)
  require("telescope.pickers")
    .new(own, {
      prompt_title = title(all),
      finder = require("telescope.finders").new_table({
        results = items,
        entry_maker = function(item)
          return { value = item, display = item.text, ordinal = item.text, path = item.path }
        end,
      }),
      sorter = defaults.generic_sorter(own),
      previewer = defaults.file_previewer(own),
      attach_mappings = function(prompt)
        local actions = require("telescope.actions")
        actions.select_default:replace(function()
          local entry = require("telescope.actions.state").get_selected_entry()
          actions.close(prompt)
          if entry then
            require("flemma.chats").open(entry.path)
          end
        end)
        return true
      end,
    })
    :find()
end

return M
