import { Command, CommanderError } from 'commander'
import { errorChain, isFailure } from '#common/errors.ts'
import { loadLightly } from '#common/load-lightly.ts'
import { addAdminCommand } from './commands/admin.ts'
import { addCellCommand } from './commands/cell.ts'
import { addDbCommand } from './commands/db.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addDownCommand } from './commands/down.ts'
import { addEnvCommand } from './commands/env.ts'
import { addLogsCommand } from './commands/logs.ts'
import { addStatusCommand } from './commands/status.ts'
import { addTestCommand } from './commands/test.ts'
import { addUpCommand } from './commands/up.ts'
import { progress } from './say.ts'

const EXIT_FAILED = 1

loadLightly()

const program = new Command('weir')
  .description('A cascading federation gateway for compute.')
  .enablePositionalOptions()
  .showHelpAfterError('(./weir --help shows every command)')

addUpCommand(program)
addDownCommand(program)
addStatusCommand(program)
addLogsCommand(program)
addEnvCommand(program)
addDoctorCommand(program)
addTestCommand(program)
addCellCommand(program)
addDbCommand(program)
addAdminCommand(program)

// Whoever reads the output may stop early, as head does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) throw error
  progress(`weir: ${errorChain(error)}`)
  if (!isFailure(error) && error instanceof Error) progress(error.stack ?? '')
  process.exitCode = EXIT_FAILED
}
