-- Neovim's Lua. Line length is stylua's business.
std = "luajit"
globals = { "vim" }
max_line_length = false
