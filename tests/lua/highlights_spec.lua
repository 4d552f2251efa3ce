--- The look of a chat in the color schemes that come with Neovim.
-- luacheck: globals test

local highlights = require("flemma.highlights")

--- Returns what of a group is seen: with GUI colors, or in a terminal with few.
---@param name string
---@param is_gui boolean
---@return string
local function seen(name, is_gui)
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false })
  local group = vim.api.nvim_get_hl(0, { name = name, link = false })
  local keys = is_gui and { "fg", "bg" } or { "ctermfg", "ctermbg" }
  local styles = is_gui and group or group.cterm or {}
  return vim.inspect({
    group[keys[1]] or normal[keys[1]] or "text",
    group[keys[2]] or normal[keys[2]] or "background",
    { styles.bold, styles.italic, styles.underline, styles.undercurl, styles.reverse },
  })
end

test("the roles differ from each other and from text in every color scheme", function()
  local names = { "Normal", "FlemmaUser", "FlemmaAssistant", "FlemmaSystem" }
  local background, problems = vim.o.background, {}
  for _, scheme in ipairs(vim.fn.getcompletion("", "color")) do
    for _, wanted in ipairs({ "dark", "light" }) do
      vim.o.background = wanted
      vim.cmd.colorscheme(scheme)
      highlights.define({})
      -- As on a change of 'background'.
      highlights.define({})
      for at, name in ipairs(names) do
        for other = 1, at - 1 do
          for _, is_gui in ipairs({ true, false }) do
            if seen(name, is_gui) == seen(names[other], is_gui) then
              table.insert(problems, ("%s %s: %s and %s"):format(scheme, wanted, name, names[other]))
            end
          end
        end
      end
    end
  end
  vim.o.background = background
  vim.cmd.colorscheme("default")
  highlights.define({})
  assert(#problems == 0, table.concat(problems, "\n"))
end)
