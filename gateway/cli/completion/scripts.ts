export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The completion script of each shell: it runs the command, which prints `word<Tab>meaning` lines. */
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_weir() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o bashdefault -o default -F _weir weir
`,
  zsh: `#compdef weir
_weir() {
  local -a found
  found=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "$found" ]]; then
    _files
  else
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found/$'\\t'/:}")
    _describe weir found
  fi
}
compdef _weir weir
`,
  fish: `function __weir_complete
  set -l words (commandline -opc)
  set -l command $words[1]
  set -e words[1]
  $command complete -- $words (commandline -ct) 2>/dev/null
end
complete -c weir -a '(__weir_complete)'
`,
}
