import type { Command, Option } from 'commander'

/** A possible word at the cursor, with its meaning. */
export interface Candidate {
  readonly word: string
  readonly meaning: string
}

/** The words that may replace the last of these words, which is unfinished. */
export function candidatesFor(program: Command, words: readonly string[]): readonly Candidate[] {
  const before = words.slice(0, -1)
  const typed = words.at(-1) ?? ''
  const command = commandAt(program, before)
  const wanting = valueWanted(command, before.at(-1))
  if (wanting !== undefined) return matching(choices(wanting), typed)
  const found = typed.startsWith('-') ? flags(command) : [...verbs(command), ...values(command)]
  return matching(found, typed)
}

/** As far as the words name commands; options and their values are passed over. */
function commandAt(program: Command, words: readonly string[]): Command {
  let command = program
  for (const [at, word] of words.entries()) {
    if (word.startsWith('-') || valueWanted(command, words[at - 1]) !== undefined) continue
    command = command.commands.find((each) => each.name() === word) ?? command
  }
  return command
}

/** The option that waits for its value after this word. */
function valueWanted(command: Command, word: string | undefined): Option | undefined {
  if (word === undefined || !word.startsWith('-')) return undefined
  return command.options.find(
    (option) => option.required && (option.long === word || option.short === word),
  )
}

function choices({ argChoices = [] }: Option): readonly Candidate[] {
  return argChoices.map((word) => ({ word, meaning: '' }))
}

function flags(command: Command): readonly Candidate[] {
  const help = command.createHelp()
  return help
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ word: long ?? short ?? '', meaning: description }))
}

function verbs(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((verb) => ({ word: verb.name(), meaning: verb.description() }))
}

function values(command: Command): readonly Candidate[] {
  return command.registeredArguments.flatMap(({ argChoices = [] }) =>
    argChoices.map((word) => ({ word, meaning: '' })),
  )
}

function matching(found: readonly Candidate[], typed: string): readonly Candidate[] {
  return found.filter(({ word }) => word.startsWith(typed))
}
