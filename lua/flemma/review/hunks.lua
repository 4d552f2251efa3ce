--- Movements and text objects of a review: hunks, and the parts of files.
---@class flemma.review.hunks
local M = {}

local api = vim.api

--- The first lines of hunks and of the parts of files. No line of a hunk looks like the second.
local HUNK, FILE = "^@@", "^diff "

---@param flags string As for |search()|.
local function to_hunk(flags)
  return function()
    for _ = 1, vim.v.count1 do
      vim.fn.search(HUNK, flags)
    end
  end
end

--- Selects the lines from the nearest one above that begins a part to the last one before another.
---@param starts string The pattern of lines that begin the part.
---@param borders string The pattern of lines that begin any part.
---@param missing string The message if the cursor is in none.
local function select(starts, borders, missing)
  return function()
    -- Visual mode would extend its own selection.
    if api.nvim_get_mode().mode:find("^[vV\22]") then
      vim.cmd.normal({ vim.keycode("<Esc>"), bang = true })
    end
    local first = vim.fn.search(borders, "bcnW")
    if first == 0 or vim.fn.match(vim.fn.getline(first), starts) == -1 then
      require("flemma.notices").notify({ level = "warn", message = missing })
      return api.nvim_feedkeys(vim.keycode("<Esc>"), "n", false)
    end
    local below = vim.fn.search(borders, "nW")
    local last = below == 0 and vim.fn.line("$") or below - 1
    vim.cmd.normal({ ("%dGV%dG"):format(first, last), bang = true })
  end
end

--- Maps the movements and text objects.
---@param buffer integer
function M.set_keys(buffer)
  local function map(modes, key, action, description)
    vim.keymap.set(modes, key, action, { buffer = buffer, desc = "Flemma: " .. description })
  end
  map({ "n", "x", "o" }, "]c", to_hunk("W"), "next hunk")
  map({ "n", "x", "o" }, "[c", to_hunk("bW"), "previous hunk")
  local no_hunk = "The cursor is in no hunk. ]c goes to the next one."
  map({ "x", "o" }, "ih", select(HUNK, "^\\(@@\\|diff \\)", no_hunk), "a hunk")
  map({ "x", "o" }, "if", select(FILE, FILE, "The cursor is in the part of no file."), "a file")
end

return M
