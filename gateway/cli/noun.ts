import type { Command } from 'commander'

/** The noun whose verbs are to be added, made with its first verb: some of its verbs belong to the launcher. */
export function noun(program: Command, name: string, description: string): Command {
  const known = program.commands.find((command) => command.name() === name)
  return known ?? program.command(name).description(description)
}
