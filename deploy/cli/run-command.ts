import { CommanderError } from 'commander'
import { errorChain, isFailure } from '#common/errors.ts'
import { endingOf } from '#gateway/cli/exit-codes.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import { createProgram } from './program.ts'

/** Runs a command line. Failures are printed on standard error, and decide the exit code. */
export async function runCommand(operator: Operator, words: readonly string[]): Promise<void> {
  try {
    await createProgram(operator).parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // The message has been written. Help is not an error.
      if (error.exitCode !== 0) operator.endsAs('usage')
      return
    }
    operator.err.write(`weir: ${errorChain(error)}\n`)
    if (!isFailure(error) && error instanceof Error) operator.err.write(`${error.stack ?? ''}\n`)
    operator.endsAs(endingOf(error))
  }
}
