import { Argument, type Command } from 'commander'
import { candidatesFor } from '../completion/candidates.ts'
import { SCRIPTS, SHELLS, type Shell } from '../completion/scripts.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'

export function addCompletionCommands(program: Command, operator: Operator): void {
  const shell = new Argument('<shell>', 'Shell').choices([...SHELLS])
  withExamples(
    program.command('completion').addArgument(shell),
    'source <(./weir completion bash)',
    'source <(./weir completion zsh)',
    './weir completion fish | source',
  )
    .description('Print a completion script for a shell')
    .action((name: Shell) => {
      operator.out.write(SCRIPTS[name])
    })
  program
    .command('complete [words...]', { hidden: true })
    .description('Print completions for the scripts of ./weir completion')
    .action((words: readonly string[]) => {
      const found = candidatesFor(program, words)
      operator.out.write(found.map(({ word, meaning }) => `${word}\t${meaning}\n`).join(''))
    })
}
