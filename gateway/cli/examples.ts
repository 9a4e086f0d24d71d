import type { Command } from 'commander'

const EXAMPLES = new WeakMap<Command, readonly string[]>()

/** Afterwards the help of the command begins with these lines, which can be pasted. */
export function withExamples(command: Command, ...lines: readonly string[]): Command {
  EXAMPLES.set(command, lines)
  return command.addHelpText('before', `Examples:\n${lines.map((line) => `  ${line}\n`).join('')}`)
}

export function examplesOf(command: Command): readonly string[] {
  return EXAMPLES.get(command) ?? []
}
