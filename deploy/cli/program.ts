import { Command } from 'commander'
import { readRelease } from '#common/release.ts'
import { addOperatorCommands } from '#gateway/cli/add-operator-commands.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import { addAdminCommand } from './commands/admin.ts'
import { addBackupCommand } from './commands/backup.ts'
import { addCellCommand } from './commands/cell.ts'
import { addCertificateCommands } from './commands/certificate.ts'
import { addConfigCommand } from './commands/config.ts'
import { addControlPlaneCommands } from './commands/control-plane.ts'
import { addDbCommand } from './commands/db.ts'
import { addEnvCommand } from './commands/env.ts'
import { addHostCommand } from './commands/host.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addLogsCommand } from './commands/logs.ts'
import { addRestoreCommand } from './commands/restore.ts'
import { addSshCommand } from './commands/ssh.ts'
import { addStandbyCommand } from './commands/standby.ts'
import { addDoctorCommand, addStatusCommand } from './commands/status.ts'
import { addTestCommand } from './commands/test.ts'
import { addDownCommand, addUpCommand } from './commands/up.ts'
import { addUpgradeCommand } from './commands/upkeep.ts'

const DEPLOYMENT = 'The deployment in this checkout:'
const PRODUCTION = 'The programs of this machine, as services:'
const CLOUD = 'A cloud, through its API:'

/** Every command of `./weir`. One that is misused throws a `CommanderError`, after it was explained. */
export function createProgram(operator: Operator): Command {
  const program = new Command('weir')
    .description('A cascading federation gateway for compute.')
    .version(`weir ${readRelease()}`, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .enablePositionalOptions()
    .showHelpAfterError('(./weir --help shows every command)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => operator.out.write(text),
      writeErr: (text) => operator.err.write(text),
    })
  program.commandsGroup(DEPLOYMENT)
  addUpCommand(program)
  addDownCommand(program)
  addStatusCommand(program, operator)
  addLogsCommand(program)
  addEnvCommand(program)
  addSshCommand(program)
  addDoctorCommand(program)
  addUpgradeCommand(program)
  addTestCommand(program)
  addDbCommand(program, operator)
  addBackupCommand(program)
  addRestoreCommand(program)
  addAdminCommand(program)
  program.commandsGroup(PRODUCTION)
  addControlPlaneCommands(program)
  addCertificateCommands(program)
  addStandbyCommand(program, operator)
  addConfigCommand(program)
  addKeysCommand(program)
  program.commandsGroup(CLOUD)
  addCellCommand(program, operator)
  addHostCommand(program)
  addOperatorCommands(program, operator)
  return program
}
