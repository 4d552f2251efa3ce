--- Chats in the pickers of other plugins, which are replaced by modules that record the calls
--- of their public functions.
-- luacheck: globals test same

local host = require("chat")
local pickers = require("flemma.pickers")

--- Runs a body in a project with two chats, of which `new.chat` changed last.
---@param modules table<string, table> Modules of other plugins.
---@param body fun(root: string)
local function with(modules, body)
  local root = vim.uv.fs_realpath(vim.fn.tempname():match("^(.*)/")) .. "/" .. vim.uv.hrtime()
  vim.fn.mkdir(root, "p")
  local found = {}
  for at, name in ipairs({ "new", "old" }) do
    local path = ("%s/%s.chat"):format(root, name)
    vim.fn.writefile({ "@You:", "x" }, path)
    found[at] = { path = path, time = 0, title = ("The %s one\27"):format(name), name = name .. ".chat" }
  end
  host.answers.chats = function()
    return vim.tbl_filter(function(chat)
      return vim.uv.fs_stat(chat.path) ~= nil
    end, found)
  end
  vim.cmd.cd(root)
  for name, module in pairs(modules) do
    package.loaded[name] = module
  end
  local ok, why = pcall(body, root)
  for name in pairs(modules) do
    package.loaded[name] = nil
  end
  vim.cmd("silent! %bwipeout!")
  host.answers = {}
  assert(ok, why)
end

test("without chats, no picker opens, and a message says so", function()
  local function opened()
    error("a picker was opened")
  end
  local modules = { ["fzf-lua"] = { fzf_exec = opened }, snacks = { picker = { pick = opened } } }
  modules["telescope.config"], modules["telescope.pickers"] = { values = {} }, { new = opened }
  local notices, said = require("flemma.notices"), {}
  local notify = notices.notify
  notices.notify = function(notice)
    said[#said + 1] = notice.message
  end
  with(modules, function(root)
    for _, name in ipairs({ "old.chat", "new.chat" }) do
      vim.fn.delete(root .. "/" .. name)
    end
    pickers.fzf_lua()
    pickers.snacks({ all = false })
    pickers.telescope({})
    require("flemma.chats").pick(false)
  end)
  notices.notify = notify
  same(said, vim.fn["repeat"]({ "This project has no chats. `:Flemma chats all` lists all." }, 4))
end)

test("fzf-lua gets one line per chat, and opens the chosen one", function()
  local lines, options
  local fzf = {
    fzf_exec = function(...)
      lines, options = ...
    end,
  }
  with({ ["fzf-lua"] = fzf }, function()
    pickers.fzf_lua({ winopts = { height = 0.5 } })
    same(#lines, 2)
    assert(lines[1]:find("The new one^[  (new.chat)", 1, true), lines[1])
    same({ options.prompt, options.winopts.height, options.all }, { "Chats of this project> ", 0.5 })
    options.actions.default({ lines[2] })
    same(vim.fn.expand("%:t"), "old.chat")
    options.actions.default(nil)
    options.actions.default({})
    same(vim.fn.expand("%:t"), "old.chat")
  end)
end)

test("snacks.nvim gets items with files, and opens the chosen one", function()
  local options
  local snacks = { picker = {
    pick = function(given)
      options = given
    end,
  } }
  with({ snacks = snacks }, function(root)
    pickers.snacks({ all = true, layout = "select" })
    same({ options.title, options.layout, options.all }, { "All chats", "select" })
    same({ options.format, options.preview, #options.items }, { "text", "file", 2 })
    same(options.items[1].file, root .. "/new.chat")
    local closed = 0
    local picker = {
      close = function()
        closed = closed + 1
      end,
    }
    options.confirm(picker, options.items[2])
    options.confirm(picker, nil)
    same({ closed, vim.fn.expand("%:t") }, { 2, "old.chat" })
  end)
end)

test("telescope.nvim has an extension that lists chats, and opens the chosen one", function()
  local made, exports, chosen, choose
  local modules = {
    telescope = {
      register_extension = function(extension)
        exports = extension.exports
        return extension
      end,
    },
    ["telescope.config"] = {
      values = {
        generic_sorter = function()
          return "sorter"
        end,
        file_previewer = function()
          return "previewer"
        end,
      },
    },
    ["telescope.finders"] = {
      new_table = function(given)
        return vim.tbl_map(given.entry_maker, given.results)
      end,
    },
    ["telescope.pickers"] = {
      new = function(options, defaults)
        made = vim.tbl_extend("force", defaults, { options = options, found = 0 })
        function made.find()
          made.found = made.found + 1
        end
        return made
      end,
    },
    ["telescope.actions"] = {
      select_default = {
        replace = function(_, by)
          choose = by
        end,
      },
      close = function() end,
    },
    ["telescope.actions.state"] = {
      get_selected_entry = function()
        return chosen
      end,
    },
  }
  with(modules, function(root)
    dofile(vim.api.nvim_get_runtime_file("lua/telescope/_extensions/flemma.lua", false)[1])
    same(exports.flemma, exports.chats)
    exports.flemma({ layout_strategy = "vertical" })
    same({ made.found, made.options.layout_strategy }, { 1, "vertical" })
    same({ made.prompt_title, made.sorter, made.previewer }, { "Chats of this project", "sorter", "previewer" })
    local entry = made.finder[2]
    same({ entry.path, entry.display == entry.ordinal }, { root .. "/old.chat", true })
    same(made.attach_mappings(1), true)
    choose()
    chosen = entry
    choose()
    same(vim.fn.expand("%:t"), "old.chat")
  end)
end)
