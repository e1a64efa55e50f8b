#!/usr/bin/env bash
# completion_test.sh STIPPLE: the completions and the man page name every command and option that --help names, and the
# shells understand them. What --help says is read from its text, so that nothing is missing from all of them alike.
. "$(dirname "$0")/command_test.sh"

for form in bash zsh fish man; do
  run completion $form
  check "completion $form succeeds" status_is 0
  cp stdout script.$form
done
run completion tcsh
check "another shell: usage error" status_is 2
check "another shell: the error names it" one_line_with "tcsh"

commands_of_help() { "$stipple" --help | sed -n '/^Subcommands:/,$ s/^  \([a-z-]*\) .*/\1/p'; }
options_of_help() { # options_of_help [COMMAND]: long and short
  "$stipple" "$@" --help | grep -oE '^  -[^ ]+' | tr -d ' ' | tr ',' '\n' | sed 's/{.*//'
}
same_words() { [ "$(sort -u "$1" | xargs)" = "$(sort -u "$2" | xargs)" ]; }
has_all() { # has_all FILE: whether it has every word of the file wanted, between characters that are of no option
  local word
  while read -r word; do grep -qE -- "(^|[^a-z-])$word([^a-z-]|\$)" "$1" || { echo "missing: $word"; return 1; }; done <wanted
}
commands_of_help >commands
check "--help lists at least ten commands" [ "$(wc -l <commands)" -ge 10 ]
check "train has at least 50 options" [ "$(options_of_help train | wc -l)" -ge 50 ]

# in_bash WORD...: what bash would offer for the last of these words.
in_bash() {
  bash --norc --noprofile -c '
    source script.bash
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _stipple
    [ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - stipple "$@"
}
bash_offers() { local expected=$1; shift; [ "$(in_bash "$@" | LC_ALL=C sort | xargs)" = "$expected" ]; }
check "bash: the script is valid" bash -n script.bash
in_bash "" >offered
check "bash: every command" same_words commands offered
options_of_help >wanted; in_bash - >offered
check "bash: the program's own options" same_words wanted offered
while read -r command; do
  options_of_help "$command" >wanted; in_bash "$command" - >offered
  check "bash: every option of $command" same_words wanted offered
done <commands
touch "a photo.jpg" scene.txt
check "bash: a command by its beginning" bash_offers "train" tr
check "bash: an option by its beginning" bash_offers "--backend --background --batch" train --ba
check "bash: the choices of an option" bash_offers "best cpu cuda vulkan" train --backend ""
check "bash: the choices of a list of options" bash_offers "adc mcmc" train scene --strategy ""
check "bash: a choice after an equals sign" bash_offers "colmap colmap-text" synth --format = col
check "bash: all choices after an equals sign" bash_offers "auto off" train --guard =
check "bash: nothing for a number" bash_offers "" train --steps ""
check "bash: files for an argument" bash_offers "scene.txt" train sce
in_bash fit a >offered
check "bash: a file with a space is one" [ "$(cat offered)" = "a photo.jpg" ]
check "bash: files for an option" bash_offers "scene.txt" train --config sce
check "bash: the shells" bash_offers "bash fish man zsh" completion ""

# The part of a script that belongs to a command.
zsh_part() { sed -n "/^        $1)\$/,/^          ;;\$/p" script.zsh; }
fish_part() { grep -F "__fish_seen_subcommand_from $1'" script.fish | sed -E 's/ -l / --/g; s/ -s / -/g'; }
man_part() { sed -n "/^\\.SS stipple $1\$/,/^\\.S[SH] /p" script.man | sed 's/\\-/-/g; s/\\f[A-Z]/ /g'; }
for form in zsh fish man; do
  cp commands wanted
  check "$form: every command" has_all script.$form
  while read -r command; do
    options_of_help "$command" >wanted; ${form}_part "$command" >part
    check "$form: every option of $command" has_all part
  done <commands
done

if command -v zsh >/dev/null; then
  check "zsh: the script is valid" zsh -n script.zsh
else
  echo "skipped: zsh is not installed"
fi
if command -v fish >/dev/null; then
  check "fish: the script is valid" fish --no-execute script.fish
  in_fish() { HOME=$work fish --no-config -c "source script.fish; complete -C 'stipple $1'" 2>/dev/null | cut -f 1; }
  in_fish "" >offered
  check "fish: offers every command" same_words commands offered
  options_of_help train | grep -- -- >wanted; in_fish "train --" >offered
  check "fish: offers every option of train" same_words wanted offered
  in_fish "train --backend " >offered; printf '%s\n' best cuda vulkan cpu >wanted
  check "fish: offers the choices of an option" same_words wanted offered
else
  echo "skipped: fish is not installed"
fi
if command -v man >/dev/null && command -v groff >/dev/null; then
  LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l script.man >page 2>warnings
  check "man: formats without warnings" [ ! -s warnings -a -s page ]
fi
if command -v mandoc >/dev/null; then
  check "man: mandoc finds no error" mandoc -T lint -W error script.man
fi
finish
