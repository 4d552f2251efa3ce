" Role markers, until the host colors the chat.
if exists("b:current_syntax")
  finish
endif
syntax match FlemmaSystem /^@System:\%(\s\|$\)\@=/
syntax match FlemmaUser /^@You:\%(\s\|$\)\@=/
syntax match FlemmaAssistant /^@Assistant:\%(\s\|$\)\@=/
let b:current_syntax = "chat"
